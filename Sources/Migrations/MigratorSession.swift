package import EventLoop
package import Postgres

/// The only connection of a run.
@EventLoop package final class MigratorSession {
  package let connection: Connection
  private let isReadOnly: Bool
  private let report: @EventLoop (String) -> Void

  /// Our key among the database's advisory locks: `dossmigr` in ASCII.
  private static let lock: (upper: UInt32, lower: UInt32) = (0x646f_7373, 0x6d69_6772)

  /// Connects to the database.
  ///
  /// - Parameters:
  ///   - conninfo: libpq's connection string or URI.
  ///   - readOnly: whether the server must reject all changes.
  ///   - report: receives progress lines for the operator.
  /// - Returns: a session without the lock.
  /// - Throws: `.cannotConnect` if the connection fails.
  package static func open(
    _ conninfo: String, readOnly: Bool = false, report: @escaping @EventLoop (String) -> Void
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
    _ connection: Connection, isReadOnly: Bool, _ report: @escaping @EventLoop (String) -> Void
  ) {
    self.connection = connection
    self.isReadOnly = isReadOnly
    self.report = report
  }

  package func say(_ line: String) { report(line) }

  /// Resets the session settings that a migration may have changed.
  package func reset() async throws(MigrationError) {
    var settings = [
      "reset role", "reset all", "set statement_timeout = 0",
      "set idle_in_transaction_session_timeout = 0", "set standard_conforming_strings = on",
      // Runs wait for one another, and each statement must see the commits before it.
      "set lock_timeout = 0", "set default_transaction_isolation = 'read committed'",
      // Otherwise, Citus refuses to change a reference table after a parallel change of shards.
      "set citus.multi_shard_modify_mode = sequential",
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
    _ sql: String, _ parameters: [String?] = []
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

  // MARK: Locking

  /// Locks out other runs until the connection ends.
  ///
  /// The lock is polled. A session that waits in the server would hold a snapshot. A
  /// `create index concurrently` of the lock's holder would wait for that snapshot.
  /// - Parameter timeout: the limit in seconds, or nil for none.
  /// - Throws: `.lockTimeout` if the limit passes.
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
  /// Creates the error for a rejected statement or a lost connection.
  package init(_ error: DatabaseError, file: String, line: Int?, rest: String) {
    self =
      error.isConnectionLost
      ? .connectionLost(error.message)
      : .statementFailed(FailedStatement(file: file, line: line, error: error, rest: rest))
  }
}
