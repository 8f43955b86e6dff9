/// The state of a migration in the folder and the database.
package struct Status: Equatable, Sendable, Encodable {
  package enum State: String, Sendable, Encodable {
    case applied
    case pending
    case edited
    case missing
    /// Applied by a newer program, so its file is not here.
    case newer
    /// Pending, but older than an applied migration.
    case outOfOrder = "out of order"
    /// Begun without a transaction and not finished.
    case interrupted
  }

  package let version: Int
  package let name: String
  package let state: State
  package let appliedAt: String?
  package let appliedBy: String?
  package let duration: Int?

  private enum CodingKeys: String, CodingKey {
    case version, name, state
    case appliedAt = "applied_at"
    case appliedBy = "applied_by"
    case duration = "duration_ms"
  }

  /// Returns all migrations of both, by version.
  package static func all(_ migrations: [Migration], _ ledger: Ledger) -> [Status] {
    let entries = Dictionary(ledger.entries.map { ($0.version, $0) }) { first, _ in first }
    let files = Dictionary(migrations.map { ($0.version, $0) }) { first, _ in first }
    let newest = entries.keys.max() ?? 0
    let newestFile = files.keys.max() ?? .max
    return Set(entries.keys).union(files.keys).sorted().map { version in
      let (entry, file) = (entries[version], files[version])
      let state: State =
        if version == ledger.interrupted {
          .interrupted
        } else if let entry {
          switch file {
          case .none: version > newestFile ? .newer : .missing
          case .some(let file): file.isApplied(by: entry) ? .applied : .edited
          }
        } else {
          version < newest ? .outOfOrder : .pending
        }
      return Status(
        version: version, name: file?.name ?? entry?.name ?? "", state: state,
        appliedAt: entry?.appliedAt, appliedBy: entry?.appliedBy, duration: entry?.duration
      )
    }
  }

  /// The status as one line of text.
  package var line: String {
    var words = [Migration.paddedVersion(version), name, state.rawValue]
    if let appliedAt, let appliedBy, let duration {
      words.append("\(appliedAt) by \(appliedBy) in \(duration) ms")
    }
    return words.joined(separator: "  ")
  }
}

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
