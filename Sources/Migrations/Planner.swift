/// The state that a run must reach.
package enum Goal: Equatable, Sendable {
  case latest
  /// Undo this number of the newest migrations.
  case down(steps: Int)
  /// Apply or undo migrations until this version is the newest.
  ///
  /// 0 is the empty schema.
  case version(Int)
}

/// One migration in one direction.
package struct Step: Equatable, Sendable {
  package let migration: Migration
  package let direction: Direction
  /// Whether an earlier run was interrupted in this migration.
  package let isResumed: Bool

  package init(_ migration: Migration, _ direction: Direction, isResumed: Bool = false) {
    self.migration = migration
    self.direction = direction
    self.isResumed = isResumed
  }
}

/// Plans the steps of a run.
package struct Planner: Sendable {
  /// The migrations in the files, by version.
  private let migrations: [Int: Migration]
  private let ledger: Ledger
  private let allowsOutOfOrder: Bool

  package init(_ migrations: [Migration], _ ledger: Ledger, allowsOutOfOrder: Bool = false) {
    self.migrations = Dictionary(migrations.map { ($0.version, $0) }) { first, _ in first }
    self.ledger = ledger
    self.allowsOutOfOrder = allowsOutOfOrder
  }

  /// Returns the steps to `goal`, in order.
  ///
  /// An interrupted migration is finished first, in its direction. If it was being undone and the
  /// goal is `.down`, it counts as the first step.
  ///
  /// Upwards, migrations of a newer program are left alone. Downwards, migrations without files are
  /// undone from the ledger.
  /// - Throws: `.missing`, `.edited`, `.outOfOrder`, `.irreversible`, `.unknownVersion` or
  ///   `.badFile` if the goal cannot be reached.
  package func steps(to goal: Goal) throws(MigrationError) -> [Step] {
    try checkApplied { entry in
      goal != .latest || entry.version > newestFile
    }
    var applied = Set(ledger.entries.map(\.version))
    var steps: [Step] = []
    if let step = try resumption(applied) {
      steps.append(step)
      if step.direction == .up {
        applied.insert(step.migration.version)
      } else {
        applied.remove(step.migration.version)
      }
    }
    switch goal {
    case .latest:
      steps += try ups(to: .max, over: applied)
    case .down(let count):
      let done = steps.first?.direction == .down ? 1 : 0
      steps += try downs(applied.sorted(by: >).prefix(max(0, count - done)))
    case .version(let version):
      guard version == 0 || migrations[version] != nil || applied.contains(version) else {
        throw .unknownVersion(version)
      }
      steps += try downs(applied.filter { $0 > version }.sorted(by: >)[...])
      steps += try ups(to: version, over: applied.filter { $0 <= version })
    }
    return steps
  }

  /// The newest version of the files.
  ///
  /// Without files, no version counts as newer.
  private var newestFile: Int { migrations.keys.max() ?? .max }

  /// The newest version of the files, if a newer program has applied later migrations; otherwise
  /// nil.
  package var overtakenVersion: Int? {
    ledger.entries.contains { $0.version > newestFile } ? newestFile : nil
  }

  /// Checks that the file of every applied migration exists, and that this text or a former one was
  /// applied.
  ///
  /// - Parameter mayBeMissing: returns whether an applied migration needs no file.
  /// - Throws: `.missing` if a file is missing, `.edited` if it was changed.
  package func checkApplied(
    except mayBeMissing: (Ledger.Entry) -> Bool = { _ in false }
  ) throws(MigrationError) {
    for entry in ledger.entries {
      if let migration = migrations[entry.version] {
        guard migration.isApplied(by: entry) else { throw .edited(file: migration.file) }
      } else if !mayBeMissing(entry) {
        throw .missing(version: entry.version, name: entry.name)
      }
    }
  }

  /// Returns an applied migration from its file, or else from the ledger.
  ///
  /// - Throws: `.missing` if neither has it, `.badFile` if the stored text is invalid.
  private func undoable(_ version: Int) throws(MigrationError) -> Migration {
    if let migration = migrations[version] { return migration }
    let entry = ledger.entries.first { $0.version == version }
    guard let entry else { throw .missing(version: version, name: nil) }
    return try Migration.kept(entry)
  }

  private func resumption(_ applied: Set<Int>) throws(MigrationError) -> Step? {
    guard let version = ledger.interrupted else { return nil }
    let migration = try undoable(version)
    guard !migration.isTransactional else { throw .edited(file: migration.file) }
    return Step(migration, applied.contains(version) ? .down : .up, isResumed: true)
  }

  private func ups(to last: Int, over applied: Set<Int>) throws(MigrationError) -> [Step] {
    let pending = migrations.values.filter { $0.version <= last && !applied.contains($0.version) }
      .sorted { $0.version < $1.version }
    if let first = pending.first, let newest = applied.max(), first.version < newest,
      !allowsOutOfOrder
    {
      throw .outOfOrder(file: first.file, applied: newest)
    }
    return pending.map { Step($0, .up) }
  }

  private func downs(_ versions: ArraySlice<Int>) throws(MigrationError) -> [Step] {
    var steps: [Step] = []
    for version in versions {
      let migration = try undoable(version)
      if let reason = migration.irreversible {
        throw .irreversible(file: migration.file, reason: reason)
      }
      steps.append(Step(migration, .down))
    }
    return steps
  }
}
