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
