package import Postgres

/// The reason why a run ended early.
package enum MigrationError: Error, Equatable, Sendable {
  case edited(file: String)
  case outOfOrder(file: String, applied: Int)
  /// The name is nil if an interrupted run never recorded it.
  case missing(version: Int, name: String?)
  case statementFailed(FailedStatement)
  case lockTimeout(seconds: Int, holder: String?)
  case cannotConnect(String)
  case badFile(file: String, line: Int?, reason: String)
  case drift(String)
  case pgDump(String)
  case irreversible(file: String, reason: String)
  case connectionLost(String)
  case files(String)
  case unknownVersion(Int)
  case distribution(String)

  package var status: MigratorStatus {
    switch self {
    case .edited: .edited
    case .outOfOrder: .outOfOrder
    case .missing: .missing
    case .statementFailed: .statementFailed
    case .lockTimeout: .lockTimeout
    case .cannotConnect: .cannotConnect
    case .badFile: .badFile
    case .drift: .drift
    case .pgDump: .pgDump
    case .irreversible: .irreversible
    case .connectionLost: .connectionLost
    case .files: .files
    case .unknownVersion: .unknownVersion
    case .distribution: .distribution
    }
  }
}

/// A statement that the server rejected, with its location.
package struct FailedStatement: Equatable, Sendable {
  package let file: String
  /// The line of the character in the server's error, otherwise of the statement's start; from 1.
  package let line: Int?
  package let state: String
  package let message: String
  package let detail: String?
  package let hint: String?
  /// The state of the file's other statements, or the context of the error, as text.
  package let rest: String

  package init(file: String, line: Int?, error: DatabaseError, rest: String) {
    self.file = file
    self.line = line
    self.rest = rest
    state = error.state.rawValue
    message = error.message
    detail = error.detail
    hint = error.hint
  }
}

extension MigrationError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .edited(let file):
      "\(file) was edited after it had been applied; undo the edit and write a new migration"
    case .outOfOrder(let file, let applied):
      "\(file) is not applied, but version \(applied) is; give it a higher version, or pass "
        + "--allow-out-of-order"
    case .missing(let version, let name):
      "version \(version) "
        + (name.map { "(\($0)) is applied, but" } ?? "was interrupted, and")
        + " its file is missing; use the package that applied it, or a later one"
    case .statementFailed(let failed): failed.description
    case .lockTimeout(let seconds, let holder):
      "another run still held the lock after \(seconds) s" + (holder.map { " (\($0))" } ?? "")
    case .cannotConnect(let reason): "cannot connect to the database: \(reason)"
    case .badFile(let file, let line, let reason):
      file + (line.map { ":\($0)" } ?? "") + ": \(reason)"
    case .drift(let difference):
      "the live schema differs from that of the applied migrations (- missing, + live):\n"
        + difference
    case .pgDump(let reason): reason
    case .irreversible(let file, let reason): "\(file) is irreversible: \(reason)"
    case .connectionLost(let reason):
      "the connection was lost: \(reason); run it again; it continues where it stopped"
    case .files(let reason): reason
    case .unknownVersion(let version): "no migration has version \(version)"
    case .distribution(let reason): reason
    }
  }
}

extension FailedStatement: CustomStringConvertible {
  package var description: String {
    var lines = [file + (line.map { ":\($0)" } ?? "") + ": SQLSTATE \(state): \(message)"]
    if let detail { lines.append("  detail: \(detail)") }
    if let hint { lines.append("  hint: \(hint)") }
    lines.append("  \(rest)")
    return lines.joined(separator: "\n")
  }
}
