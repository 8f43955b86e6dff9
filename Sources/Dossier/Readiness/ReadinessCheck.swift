package import EventLoop
import Notation
package import Postgres

/// Whether a request could be served now, and if not, why.
///
/// What it looks at, a request needs: the schema that this program was written for, the right to
/// change its data, the master key, the app of those who name none.
@EventLoop package struct ReadinessCheck {
  private let database: Database
  private let master: MasterKey
  private let app: String?

  /// The newest migration that the statements of this program count on.
  package nonisolated static let schemaVersion = 230

  /// Something that must hold.
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
  ///   - database: that requests are served from.
  ///   - master: the master key.
  ///   - app: of those who name none; nil looks for none.
  package init(_ database: Database, _ master: MasterKey, app: String?) {
    self.database = database
    self.master = master
    self.app = app
  }

  /// The first thing that does not hold; nil when all does.
  package func fault() async -> Fault? {
    guard database.isReady else { return Fault(check: .database, reason: database.state.reason) }
    do throws(DatabaseError) {
      return try await found()
    } catch {
      // Undefined things and missing rights are told by name before.
      return Fault(check: .database, reason: error.description)
    }
  }

  /// What else the server says of itself; nil when it does not answer.
  package func facts() async -> ServerFacts? {
    try? await database.read(ReadinessQueries.facts).first
  }

  /// Attempts a write, and returns why it fails.
  package func writeFault() async -> Fault? {
    // Random digits cannot be compressed, so that the value needs a page of its own.
    let digits = String(hexadecimal: (0..<4_096).map { _ in UInt8.random(in: .min ... .max) })
    let name = "attempt \(digits.prefix(16))"
    guard let error = await database.attempt(ReadinessQueries.write, name, digits) else {
      return nil
    }
    guard !error.isConnectionLost else { return Fault(check: .database, reason: error.description) }
    let remedy = error.serverFault?.remedy ?? "a write fails: the log of PostgreSQL says why"
    return Fault(check: .writes, reason: "\(remedy) (\(error))")
  }

  private func found() async throws(DatabaseError) -> Fault? {
    guard let server = try await database.read(ReadinessQueries.server).first else { return nil }
    guard server.hasTimeout else {
      return Fault(
        check: .pooler,
        reason: "what is set for the connection does not reach the server: name PostgreSQL itself "
          + "in `database`, and no PgBouncer"
      )
    }
    if server.isReadOnly {
      return Fault(
        check: .readOnly,
        reason: "the server takes no writes; where there are several, name all of them in "
          + "`database` with target_session_attrs=read-write"
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

extension DatabaseState {
  /// Why there is no connection, in words.
  package var reason: String {
    switch self {
    case .connecting: "no connection yet"
    case .connected: "connected"
    case .incomplete(let reason), .away(let reason): reason
    }
  }
}
