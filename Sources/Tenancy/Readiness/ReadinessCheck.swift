package import Distribution
import Encoding
package import EventLoop
package import Runtime
package import Postgres

/// Checks whether a request could be served now, and if not, why.
///
/// A request needs the current schema, the privileges to change data, the master key and the
/// default app.
@EventLoop package struct ReadinessCheck {
  private let database: Database
  private let master: MasterKey
  private let app: String?

  /// The newest migration that the statements of this program require.
  package nonisolated static let schemaVersion = 21

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
    guard server.hasTimeout else {
      return Fault(
        check: .pooler,
        reason: "the connection settings do not reach PostgreSQL: `database` must name PostgreSQL, "
          + "not PgBouncer"
      )
    }
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
