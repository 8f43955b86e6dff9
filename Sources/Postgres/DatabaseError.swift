import CPostgres
import EventLoop

/// PostgreSQL's five-character code of an error condition.
package struct SQLState: RawRepresentable, Hashable, Sendable {
  package let rawValue: String
  package init(rawValue: String) { self.rawValue = rawValue }

  package static let uniqueViolation = SQLState(rawValue: "23505")
  package static let foreignKeyViolation = SQLState(rawValue: "23503")
  package static let checkViolation = SQLState(rawValue: "23514")
  package static let serializationFailure = SQLState(rawValue: "40001")
  package static let deadlockDetected = SQLState(rawValue: "40P01")
  /// A lock was not available in time.
  package static let lockNotAvailable = SQLState(rawValue: "55P03")
  package static let queryCanceled = SQLState(rawValue: "57014")
  package static let invalidTransaction = SQLState(rawValue: "25000")
  /// The connection was lost, or could not be opened.
  package static let connectionFailure = SQLState(rawValue: "08006")
  /// Dossier's own, in a class that PostgreSQL leaves to applications: the lane is full.
  package static let laneFull = SQLState(rawValue: "XD001")
  /// Dossier's own: one owner has too many waiters in a lane.
  package static let shareTaken = SQLState(rawValue: "XD004")
  /// Dossier's own: a column does not match the row type of the statement.
  package static let unexpectedColumn = SQLState(rawValue: "XD002")
  /// Dossier's own: the body of a transaction has rolled it back.
  package static let undone = SQLState(rawValue: "XD003")

  /// The class: the first two characters.
  package var category: Substring { rawValue.prefix(2) }
}

/// An error of PostgreSQL, or of the connection to it.
///
/// `message` and `detail` may contain a user's data. They may appear in an operator's log, never in
/// a response.
package struct DatabaseError: Error, Sendable {
  package let state: SQLState
  package let message: String
  package let detail: String?
  package let hint: String?
  /// The position in the statement, in characters from 1.
  package let position: Int?
  /// Whether the connection is unusable.
  ///
  /// The server closes it only after an error of severity FATAL or PANIC. A coordinator of Citus
  /// passes 08006 of an unreachable node on as an ERROR, and the connection to the coordinator stays.
  package let isConnectionLost: Bool

  package init(_ state: SQLState, _ message: String) {
    self.state = state
    self.message = message
    detail = nil
    hint = nil
    position = nil
    isConnectionLost = state.category == "08"
  }

  /// The starts of messages of libpq and of Citus about a lost connection.
  private static let losses = [
    "server closed the connection", "could not receive data from server",
    "could not send data to server", "SSL SYSCALL error", "SSL connection has been closed",
    "no connection to the server", "could not commit transaction for shard",
    "failure on connection marked as essential", "failed to prepare transaction",
  ]

  /// Reads the fields of a failed result.
  @safe init(result: OpaquePointer) {
    func field(_ code: CPostgresField) -> String? {
      guard let text = unsafe PQresultErrorField(result, Int32(code.rawValue)) else { return nil }
      return unsafe String(cString: text)
    }
    let message =
      unsafe field(CPostgresFieldMessage) ?? String(cString: PQresultErrorMessage(result)).trimmed
    let code = field(CPostgresFieldSQLState).map { SQLState(rawValue: $0) }
    // A coordinator of Citus reports a lost node as an internal error, often with libpq's message.
    let isNodeLost = code?.rawValue == "XX000" && Self.losses.contains { message.hasPrefix($0) }
    state = isNodeLost ? .connectionFailure : code ?? .connectionFailure
    self.message = message
    detail = field(CPostgresFieldDetail)
    hint = field(CPostgresFieldHint)
    position = field(CPostgresFieldPosition).flatMap { Int($0) }
    // An error that libpq made itself has no severity.
    let severity = field(CPostgresFieldSeverity)
    isConnectionLost = severity == nil || severity == "FATAL" || severity == "PANIC"
  }

  /// Whether the same call may succeed a little later, on another connection.
  package var isTransient: Bool {
    isServerAway || isConflict || state == .laneFull || state == .shareTaken
      || state.category == "57" || state.category == "53"
  }

  /// Whether the server, or a node of a distributed database, cannot be reached, starts or shuts
  /// down.
  package var isServerAway: Bool {
    isConnectionLost || state.category == "08" || state.rawValue.hasPrefix("57P")
  }

  /// Whether a concurrent transaction caused the error, so that the whole transaction should be
  /// retried.
  package var isConflict: Bool {
    state == .serializationFailure || state == .deadlockDetected || state == .lockNotAvailable
  }
}

extension DatabaseError: CustomStringConvertible {
  package var description: String { "\(state.rawValue): \(message)" }
}

extension String {
  /// The text without the line ends that libpq appends to its messages.
  var trimmed: String {
    var text = self[...]
    while let last = text.last, last.isWhitespace { text.removeLast() }
    return String(text)
  }
}

/// A fault of PostgreSQL that no request causes and that an operator must fix.
///
/// - Source: PostgreSQL 15, appendix A. Class 54 (a limit of the program) and class XX (a fault
///   of PostgreSQL, or damaged data) are excluded, like all others. The same request would fail
///   again.
package enum ServerFault: String, CaseIterable, Sendable {
  case diskFull = "disk_full"
  /// Memory, connections or another resource is exhausted.
  case resources
  /// PostgreSQL cannot read or write a file of its own.
  case files
  case readOnly = "read_only"
  /// The role lacks a privilege.
  case rights
  /// The schema lacks an object that this program uses.
  case schema

  init?(_ state: SQLState) {
    switch (state.rawValue, state.category) {
    case ("53100", _): self = .diskFull
    case (_, "53"): self = .resources
    case (_, "58"), (_, "F0"): self = .files
    case ("25006", _): self = .readOnly
    case ("42501", _): self = .rights
    // A table, a column, a function, a type or a schema does not exist.
    case ("42P01", _), ("42703", _), ("42883", _), ("42704", _), ("3F000", _): self = .schema
    default: return nil
    }
  }

  /// The remedy for an operator.
  package var remedy: String {
    switch self {
    case .diskFull: "the disk of PostgreSQL is full: free space on it; nothing needs a restart"
    case .resources:
      "PostgreSQL has used up its memory, connections or another resource: its log says which"
    case .files:
      "PostgreSQL cannot use one of its own files, as after an upgrade of its packages without a "
        + "restart: restart it (systemctl restart postgresql); if that does not help, its log says why"
    case .readOnly:
      "the server is read-only: name the primary in `database`, or make the server writable"
    case .rights: "the role lacks a right: run dossier-migrate up --grant-to ROLE"
    case .schema: "the schema is older than this program: run dossier-migrate up"
    }
  }

  /// The condition in one sentence for a client, which can only wait.
  package var explanation: String {
    switch self {
    case .diskFull:
      "The disk of the database is full. Reads succeed; writes fail until the operator frees space."
    case .resources: "The database has used up its memory, connections or another resource."
    case .files: "The database cannot use one of its own files; its operator must restart it."
    case .readOnly: "The database accepts no writes."
    case .rights, .schema: "The operator must migrate the database to this version of the server."
    }
  }
}

extension DatabaseError {
  /// The condition of the server, if the request is not to blame.
  package var serverFault: ServerFault? { ServerFault(state) }
}
