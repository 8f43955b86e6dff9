package import Distribution
import Encoding
package import EventLoop
package import Postgres
package import Runtime

/// Checks whether a request could be served now, and if not, why.
///
/// A request needs the current schema, the privileges to change data, the master key and the
/// default app.
@EventLoop package struct ReadinessCheck {
  private let database: Database
  private let master: MasterKey
  private let app: String?

  /// The newest migration that the statements of this program require.
  package nonisolated static let schemaVersion = 53

  /// A condition for serving requests.
  package enum Condition: String, Sendable {
    case database
    case pooler
    case readOnly = "read_only"
    case schema
    case grants
    case masterKey = "master_key"
    case app
    case writes
  }

  package struct Fault: Sendable, Equatable, CustomStringConvertible {
    package let check: Condition
    package let reason: String
    package nonisolated var description: String { "\(check.rawValue): \(reason)" }
  }

  /// - Parameters:
  ///   - database: the database that serves requests.
  ///   - master: the master key.
  ///   - app: the name of the default app; nil skips its check.
  package init(_ database: Database, _ master: MasterKey, app: String?) {
    self.database = database
    self.master = master
    self.app = app
  }

  /// Returns the first condition that fails; nil if all hold.
  ///
  /// It also tells the database whether transactions commit in two phases.
  package func fault() async -> Fault? {
    guard database.isReady else { return Fault(check: .database, reason: database.state.reason) }
    do throws(DatabaseError) {
      return try await found()
    } catch {
      // Missing tables and privileges are reported by name before.
      return Fault(check: .database, reason: error.remedy ?? error.description)
    }
  }

  /// Returns the reason why the settings of sessions are not as the statements need; nil if they are.
  private func poolerFault(_ server: ServerState) async throws(DatabaseError) -> String? {
    guard database.pooler != .none else {
      return server.hasOurSettings
        ? nil
        : "the connection settings do not reach PostgreSQL: `database` must name PostgreSQL, or "
          + "`pooler` must be set"
    }
    let needed = database.sessionSettings
    let names = TextArray(needed.map(\.name))
    let found = try await database.read(ReadinessQueries.settings, names)
    let wrong = needed.filter { setting in
      found.first { $0.name == setting.name }.map { !setting.accepts($0.value) } ?? true
    }
    guard !wrong.isEmpty else { return nil }
    let statements = wrong.map { "alter role \(server.role) set \($0.name) = '\($0.value)'" }
    return "the pooler's sessions need other settings; let a superuser execute, and then reconnect "
      + "the pooler: " + statements.joined(separator: "; ")
  }

  /// Returns more facts about the server; nil if it does not respond.
  package func facts() async -> ServerFacts? {
    try? await database.read(ReadinessQueries.facts).first
  }

  /// Returns the clocks of the other nodes of a distributed database; nil without an answer.
  package func nodeClocks() async -> [NodeClock]? {
    guard let server = try? await database.read(ReadinessQueries.server).first else { return nil }
    return server.hasCitus ? try? await database.search(DistributionQueries.clocks) : []
  }

  /// Returns the number of mails that are long overdue or abandoned; nil without an answer.
  package func lateMails() async -> Int? {
    try? await database.search(ReadinessQueries.lateMails).first
  }

  /// Attempts a write, and returns the reason if it fails.
  package func writeFault() async -> Fault? {
    // Random digits cannot be compressed, so that the value needs a page of its own.
    let digits = String(hexadecimal: (0..<4_096).map { _ in UInt8.random(in: .min ... .max) })
    let name = "attempt \(digits.prefix(16))"
    guard let error = await database.attempt(ReadinessQueries.write, name, digits) else {
      return nil
    }
    guard !error.isServerAway else { return Fault(check: .database, reason: error.description) }
    let unknown = "a write fails: the log of PostgreSQL says why (\(error))"
    return Fault(check: .writes, reason: error.remedy ?? unknown)
  }

  private func found() async throws(DatabaseError) -> Fault? {
    guard let server = try await database.read(ReadinessQueries.server).first else { return nil }
    database.beforeCommit = server.hasCitus ? DistributionQueries.twoPhases : nil
    if let reason = try await poolerFault(server) { return Fault(check: .pooler, reason: reason) }
    if server.isReadOnly {
      return Fault(
        check: .readOnly,
        reason: "the server is read-only; if there are several servers, list all of them in "
          + "`database`, with target_session_attrs=read-write"
      )
    }
    guard server.hasLedger else {
      return Fault(
        check: .schema,
        reason: "there are no tables, or this role may not see them; run dossier-migrate up "
          + "--grant-to \(server.role)"
      )
    }
    let version = try await database.read(ReadinessQueries.version).first ?? 0
    guard version >= Self.schemaVersion else {
      return Fault(
        check: .schema,
        reason: "it has migration \(version), and this program needs \(Self.schemaVersion); run "
          + "dossier-migrate up"
      )
    }
    if let table = server.forbiddenTable {
      return Fault(
        check: .grants,
        reason: "the role \(server.role) may not read and change table \(table); run "
          + "dossier-migrate up --grant-to \(server.role)"
      )
    }
    if server.hasCitus,
      let fault = Distribution(try await database.read(DistributionQueries.tables)).fault
    {
      return Fault(check: .schema, reason: fault)
    }
    if let reason = try await MasterKeys.fault(of: master, in: database) {
      return Fault(check: .masterKey, reason: reason)
    }
    if let app, try await database.read(ReadinessQueries.app, app).isEmpty {
      return Fault(check: .app, reason: "there is no app \(app), which the setting app names")
    }
    // This probes only while writes of requests fail, so that most checks write nothing.
    return database.writeFault == nil ? nil : await writeFault()
  }
}

extension DatabaseError {
  /// The remedy for an operator, and the error; nil if the server has no fault.
  fileprivate var remedy: String? { serverFault.map { "\($0.remedy) (\(self))" } }
}

extension DatabaseState {
  /// The reason why there is no connection, in words.
  package var reason: String {
    switch self {
    case .connecting: "no connection yet"
    case .connected: "connected"
    case .incomplete(let reason), .away(let reason): reason
    }
  }
}

/// The state of the server, and the privileges of our role.
struct ServerState: RowDecodable {
  /// Whether the session has the settings that every connection of ours requests.
  let hasOurSettings: Bool
  let isReadOnly: Bool
  let hasLedger: Bool
  let role: String
  /// Whether the extension Citus is installed.
  let hasCitus: Bool
  /// A table that the role may not read and change, if any.
  let forbiddenTable: String?

  init(from row: Row) throws(DatabaseError) {
    hasOurSettings = try row.bool(0)
    isReadOnly = try row.bool(1)
    hasLedger = try row.bool(2)
    role = try row.text(3)
    hasCitus = try row.bool(4)
    forbiddenTable = row.text(ifAny: 5)
  }
}

/// A setting of the session, in its own unit.
struct ServerSetting: RowDecodable {
  let name: String
  let value: String

  init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    value = try row.text(1)
  }
}

/// Facts about a working server, for operators.
package struct ServerFacts: RowDecodable {
  /// Milliseconds since 1970.
  package let time: Int
  package let maxConnections: Int
  /// The version of PostgreSQL.
  package let version: String

  package init(from row: Row) throws(DatabaseError) {
    time = try row.int(0)
    maxConnections = try row.int(1)
    version = try row.text(2)
  }
}

package enum ReadinessQueries {
  /// Returns the state of the server, also for a database without tables.
  static let server = Statement<ServerState>(
    "readiness.server",
    """
    select current_setting('statement_timeout') <> '0' and current_setting('enable_seqscan') = 'off',
      current_setting('transaction_read_only')::boolean,
      coalesce(has_table_privilege(to_regclass('schema_migrations'), 'select'), false),
      current_user::text, to_regclass('pg_catalog.pg_dist_partition') is not null,
      (select min(c.relname)::text from pg_class c
        where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p')
          and c.relname not in ('schema_migrations', 'schema_migration_progress')
          and not (has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
            and (c.relname = 'audit' or has_table_privilege(c.oid, 'update')
              and has_table_privilege(c.oid, 'delete'))))
    """)

  /// Returns the settings of the session in their own units.
  static let settings = Statement<ServerSetting, TextArray>(
    "readiness.settings",
    """
    select lower(name), setting from pg_settings where lower(name) = any($1)
    """)

  /// Returns the newest migration that is complete, as are all before it.
  static let version = Statement<Int>(
    "readiness.version",
    """
    select coalesce(max(version), 0)::bigint from schema_migrations
    """)

  static let app = Statement<String, String>(
    "readiness.app", "select name from apps where name = $1"
  )

  /// Returns the clock and the limits of the server.
  static let facts = Statement<ServerFacts>(
    "readiness.facts",
    """
    select (extract(epoch from clock_timestamp()) * 1000)::bigint,
      current_setting('max_connections')::bigint,
      split_part(current_setting('server_version'), ' ', 1)
    """)

  /// Counts the mails of all shards that are long overdue or abandoned.
  static let lateMails = Statement<Int>(
    "readiness.late_mails",
    """
    select count(*) from mail_outbox
    where next_attempt_at is null or created_at < now() - interval '15 minutes'
    """)

  /// Attempts a write with the resources that other writes need.
  ///
  /// These are a new page on disk, for a value of several kilobytes, and PL/pgSQL, which PostgreSQL
  /// loads from a file.
  static let write = Statement<NoRow, String, String>(
    "readiness.write",
    """
    insert into hosts (name, version, master_key, settings, seen_at)
    values ($1, '', '', merge_patch('{}', jsonb_build_object('attempt', $2::text)), now())
    """)
}
