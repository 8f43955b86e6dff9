package import EventLoop
package import Postgres

/// The one connection of a run.
@EventLoop package final class MigratorSession {
  package let connection: Connection
  private let isReadOnly: Bool
  private let report: @EventLoop (String) -> Void

  /// A number of ours among the database's advisory locks: `dossmigr` in ASCII.
  private static let lock: (upper: UInt32, lower: UInt32) = (0x646f_7373, 0x6d69_6772)

  /// Connects.
  ///
  /// - Parameters:
  ///   - conninfo: libpq's connection string or URI.
  ///   - readOnly: whether the server is to refuse all changes.
  ///   - report: is given lines for whoever watches.
  /// - Returns: a session without the lock.
  /// - Throws: `.cannotConnect`.
  package static func open(
    _ conninfo: String,
    readOnly: Bool = false,
    report: @escaping @EventLoop (String) -> Void
  ) async throws(MigrationError) -> MigratorSession {
    let connection: Connection
    do throws(DatabaseError) {
      connection = try await Connection.open(
        ConnectionSettings(conninfo, applicationName: "dossier-migrate")
      )
    } catch {
      throw .cannotConnect(error.message)
    }
    let session = MigratorSession(connection, isReadOnly: readOnly, report)
    try await session.reset()
    return session
  }

  private init(
    _ connection: Connection,
    isReadOnly: Bool,
    _ report: @escaping @EventLoop (String) -> Void
  ) {
    self.connection = connection
    self.isReadOnly = isReadOnly
    self.report = report
  }

  package func say(_ line: String) { report(line) }

  /// Forgets what a migration has set for the session.
  package func reset() async throws(MigrationError) {
    var settings = [
      "reset role", "reset all", "set statement_timeout = 0",
      "set idle_in_transaction_session_timeout = 0", "set standard_conforming_strings = on",
      // Runs wait for one another, and a statement sees what the one before has committed.
      "set lock_timeout = 0", "set default_transaction_isolation = 'read committed'",
    ]
    if isReadOnly { settings.append("set default_transaction_read_only = on") }
    try await run(settings.joined(separator: "; "))
  }

  package func run(_ sql: String, as name: String = "dossier-migrate") async throws(MigrationError)
  {
    do throws(DatabaseError) {
      try await connection.script(sql)
    } catch {
      throw MigrationError(error, file: name, line: nil, rest: "this was: \(sql)")
    }
  }

  package func query(
    _ sql: String,
    _ parameters: [String?] = []
  ) async throws(MigrationError) -> TextResult {
    do throws(DatabaseError) {
      return try await connection.query(sql, parameters)
    } catch {
      throw MigrationError(error, file: "dossier-migrate", line: nil, rest: "this was: \(sql)")
    }
  }

  package func ledger() async throws(MigrationError) -> Ledger {
    do throws(DatabaseError) {
      return try await Ledger(connection)
    } catch {
      throw MigrationError(error, file: "the ledger", line: nil, rest: "nothing was done")
    }
  }

  // MARK: The lock

  /// Keeps other runs out until the connection ends.
  ///
  /// By asking again and again: who waits in the server holds a snapshot, for the end of which a
  /// `create index concurrently` of the run that holds the lock would wait in turn.
  /// - Parameter timeout: in seconds; nil waits for as long as it takes.
  /// - Throws: `.lockTimeout`.
  package func lock(timeout: Int?) async throws(MigrationError) {
    let began = EventLoop.now()
    var nextLine = began
    while try await !tryLock() {
      let now = EventLoop.now()
      let holder = try await holder()
      if let timeout, now - began >= UInt64(timeout) * 1_000_000_000 {
        throw .lockTimeout(seconds: timeout, holder: holder)
      }
      if now >= nextLine {
        say("waiting for another run" + (holder.map { " (\($0))" } ?? ""))
        nextLine = now + 10_000_000_000
      }
      await EventLoop.sleep(for: .milliseconds(100))
    }
  }

  private func tryLock() async throws(MigrationError) -> Bool {
    let key = UInt64(MigratorSession.lock.upper) << 32 | UInt64(MigratorSession.lock.lower)
    return try await query("select pg_try_advisory_lock(\(key))").rows.first?[0] == "t"
  }

  private func holder() async throws(MigrationError) -> String? {
    let rows = try await query(
      """
      select l.pid, coalesce(host(a.client_addr), 'local'), a.usename
      from pg_locks l left join pg_stat_activity a using (pid)
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and l.classid = \(MigratorSession.lock.upper) and l.objid = \(MigratorSession.lock.lower)
        and l.database = (select oid from pg_database where datname = current_database())
      """
    ).rows
    return rows.first.map { row in
      "server process \(row[0] ?? "?"), \(row[2] ?? "?"), \(row[1] ?? "?")"
    }
  }
}

extension MigrationError {
  /// A server's refusal, or the connection's end.
  package init(_ error: DatabaseError, file: String, line: Int?, rest: String) {
    self =
      error.isConnectionLost
      ? .connectionLost(error.message)
      : .statementFailed(FailedStatement(file: file, line: line, error: error, rest: rest))
  }
}
