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
          case .some(let file): file.checksum == entry.checksum ? .applied : .edited
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
