import EventLoop
package import Postgres

extension DatabaseSettings {
  /// Settings with time limits that only prevent a hang, since many tests run at once on slow
  /// machines.
  package static func patient(_ conninfo: String, applicationName: String = "test") -> Self {
    var settings = DatabaseSettings(conninfo: conninfo, applicationName: applicationName)
    settings.connectTimeout = .seconds(300)
    settings.expressPatience = .seconds(600)
    settings.readTimeout = .seconds(300)
    settings.writeTimeout = .seconds(300)
    settings.searchTimeout = .seconds(300)
    settings.lockTimeout = .seconds(300)
    settings.largeTimeout = .seconds(300)
    settings.grace = .seconds(300)
    settings.suspicion = .seconds(600)
    settings.transactionIdleTimeout = .seconds(600)
    settings.exclusivePatience = .seconds(600)
    settings.searchPatience = .seconds(600)
    settings.largePatience = .seconds(600)
    return settings
  }
}

extension ConnectionSettings {
  /// Settings with time limits that only prevent a hang.
  package static func patient(_ conninfo: String, applicationName: String = "test") -> Self {
    ConnectionSettings(conninfo, applicationName: applicationName, timeout: .seconds(300))
  }
}

extension Database {
  /// Runs a script on a database, and returns the database, which is started.
  @EventLoop package static func started(
    on conninfo: String, after script: String
  ) async throws -> Database {
    let connection = try await Connection.open(.patient(conninfo))
    defer { connection.close() }
    try await connection.script(script)
    let database = Database(.patient(conninfo))
    database.start()
    return database
  }
}
