/// The exit statuses of `dossier-migrate`.
///
/// Numbers are never reused, since scripts depend on them.
package enum MigratorStatus: Int32, CaseIterable, Sendable {
  case success = 0
  case edited = 10
  case outOfOrder = 11
  case missing = 12
  case statementFailed = 13
  case lockTimeout = 14
  case cannotConnect = 15
  case badFile = 16
  case drift = 17
  case pgDump = 18
  case irreversible = 19
  case connectionLost = 20
  case files = 21
  case unknownVersion = 22
  case distribution = 23
  /// EX_USAGE of `sysexits.h`, which argument parsers use too.
  case usage = 64

  /// The line of the status in the help.
  package var meaning: String {
    switch self {
    case .success: "done, or nothing to do"
    case .edited: "an applied migration's file was edited"
    case .outOfOrder: "a pending file is older than an applied one (see --allow-out-of-order)"
    case .missing: "an applied migration's file is missing"
    case .statementFailed: "a statement failed"
    case .lockTimeout: "another run held the lock for longer than --lock-timeout"
    case .cannotConnect: "no connection to the database"
    case .badFile: "a migration's file is malformed"
    case .drift: "the live schema differs from that of the applied migrations"
    case .pgDump: "pg_dump is missing, older than the server, or failed"
    case .irreversible: "a migration on the way down is marked irreversible"
    case .connectionLost: "the connection was lost; run it again"
    case .files: "a file or folder could not be read or written"
    case .unknownVersion: "no migration has this version"
    case .distribution: "the database cannot be distributed, or is distributed in another way"
    case .usage: "wrong arguments"
    }
  }

  /// The table of statuses in the help.
  package static var table: String {
    allCases.map { status in
      "  " + String(repeating: " ", count: status.rawValue < 10 ? 1 : 0)
        + "\(status.rawValue)  \(status.meaning)"
    }.joined(separator: "\n")
  }
}
