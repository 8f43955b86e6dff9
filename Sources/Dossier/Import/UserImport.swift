package import EventLoop
import JSON
import Postgres

/// A line of the input of an import.
package struct ImportLine: Sendable {
  /// From 1.
  package let number: Int
  package let content: Result<ImportedUser, Failure>
  /// How far the input is read behind it.
  package let end: InputPosition

  package init(number: Int, content: Result<ImportedUser, Failure>, end: InputPosition) {
    self.number = number
    self.content = content
    self.end = end
  }
}

/// Users from another system or another deployment, many at a time.
///
/// Each batch is one transaction, together with how far the input is read and what became of its
/// rows: killed at any moment, an import has done a batch and knows it, or has not. Hence the
/// progress is in the database and not in a file, which a kill could part from what it tells of.
@EventLoop package final class UserImport {
  package private(set) var progress: ImportProgress
  private let app: AppID
  private let existing: ExistingUser
  private let context: RequestContext
  /// Rows to try at once, while one is looked for that the database refuses.
  private var step = 1 << 20

  private init(
    _ progress: ImportProgress,
    _ app: AppID,
    _ existing: ExistingUser,
    _ context: RequestContext
  ) {
    self.progress = progress
    self.app = app
    self.existing = existing
    self.context = context
  }

  /// Begins an import, or takes up the one of that source.
  ///
  /// - Parameters:
  ///   - source: what the input is called; one import of it counts in an app, the newest.
  ///   - app: whose users they become.
  ///   - existing: what is done with lines whose user is there.
  ///   - isResumed: goes on where the import of that source is, if there is one.
  ///   - context: the context of the request.
  /// - Returns: the import; what `progress` tells of the input is to be passed over.
  /// - Throws: `.unavailable`.
  package static func open(
    _ source: String,
    into app: AppID,
    _ existing: ExistingUser,
    isResumed: Bool,
    _ context: RequestContext
  ) async throws(Failure) -> UserImport {
    let found = try await context.transaction { transaction async throws(Failure) in
      if isResumed,
        let progress = try await transaction.run(ImportQueries.find, app, source).first
      {
        return progress
      }
      let begun = try await transaction.run(ImportQueries.begin, app, source, ImportID())
      let progress = try begun.first.orUnforeseen("an import")
      try await Event(
        "users_import_begin",
        detail: ["import": .string(progress.id.text), "source": .string(source)]
      ).record(in: transaction, app: app, context)
      return progress
    }
    return UserImport(found, app, existing, context)
  }

  /// Writes the first of some lines, as many as can be written in one transaction, and takes them
  /// away; call it until none is left.
  ///
  /// - Returns: what became of them, also in `progress` as lines of JSON.
  /// - Throws: `.versionMoved` if another run goes on with this import; `.overloaded`,
  ///   `.unavailable`: then it is unknown whether the lines were written, until the import is resumed.
  package func write(
    _ lines: inout ArraySlice<ImportLine>
  ) async throws(Failure) -> [ImportResult] {
    while !lines.isEmpty {
      let batch = Array(lines.prefix(step))
      do throws(Failure) {
        let results = try await ImportBatch.repeating { () async throws(Failure) in
          try await write(batch)
        }
        lines = lines.dropFirst(results.count)
        // The row has been found, or is not among these.
        if step < 1 << 20 { step *= 2 }
        return results
      } catch {
        // The database alone knows a rule: find the row.
        guard error.isOfOneRow else { throw error }
        if batch.count > 1 {
          step = batch.count / 2
          continue
        }
        let line = batch[0]
        let refused = ImportLine(
          number: line.number,
          content: .failure(.invalid([error.importFault])),
          end: line.end
        )
        lines = lines.dropFirst()
        return try await write([refused])
      }
    }
    return []
  }

  private func write(_ lines: [ImportLine]) async throws(Failure) -> [ImportResult] {
    let outcome = try await context.transaction { transaction async throws(Failure) in
      try await attempt(lines, in: transaction)
    }
    progress = outcome.progress
    return outcome.results
  }

  private func attempt(
    _ lines: [ImportLine],
    in transaction: Transaction
  ) async throws(Failure) -> (results: [ImportResult], progress: ImportProgress) {
    // Before anything is written: two runs of one import follow one another, and the later stops.
    let place = try await transaction.run(ImportQueries.lock, app, progress.id)
    guard place.first == progress.lines else { throw .versionMoved(current: place.first ?? 0) }
    var batch = ImportBatch(app: app, import: progress.id)
    let rows = lines.map { try? $0.content.get() }
    let findings = try await ImportFinding.all(
      of: rows,
      isForUpdate: existing.isChanged,
      in: app,
      transaction
    )
    var done: Set<Int> = []
    if existing == .require {
      let questions = TextBytes(ImportBatch.questions(rows).serialized())
      done = Set(try await transaction.run(ImportQueries.done, app, questions, progress.id))
    }
    let found = Dictionary(uniqueKeysWithValues: findings.map { ($0.index, $0) })
    var keys = BatchConflictKeys()
    var results: [ImportResult] = []
    for (index, line) in lines.enumerated() {
      var user: UserID?
      let outcome: ImportResult.Outcome
      switch line.content {
      case .failure(let failure): outcome = .failed(failure.faults)
      case .success(let row):
        let finding = try found[index].orUnforeseen("a row that was examined")
        guard keys.take(row, finding) else {
          return try await commit(batch, results, lines, in: transaction)
        }
        let decision =
          done.contains(index)
          ? .duplicate(row.id) : ImportDecision(row, finding, of: app, existing)
        (user, outcome) = batch.add(row, addressKey: finding.emailKey, decision)
      }
      results.append(ImportResult(line: line.number, user: user, outcome: outcome))
    }
    return try await commit(batch, results, lines, in: transaction)
  }

  private func commit(
    _ batch: ImportBatch,
    _ results: [ImportResult],
    _ lines: [ImportLine],
    in transaction: Transaction
  ) async throws(Failure) -> (results: [ImportResult], progress: ImportProgress) {
    try await batch.write(in: transaction, context)
    var tally = progress.tally
    for result in results { tally.count(result.outcome) }
    let end = lines[results.count - 1].end
    let text = results.map(\.text).joined()
    let written = try await transaction.run(
      ImportQueries.advance,
      app,
      progress.id,
      TextBytes(JSON.array([tally.json, position(end)]).serialized()),
      end.digest,
      TextBytes(Array(text.utf8))
    )
    return (results, try written.first.orUnforeseen("an import that goes on"))
  }

  private func position(_ end: InputPosition) -> JSON {
    ["lines": .number(JSONNumber(end.lines)), "bytes": .number(JSONNumber(end.bytes))]
  }

  /// Ends the import: all is read, and the results are kept elsewhere.
  ///
  /// - Throws: `.unavailable`.
  package func finish() async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      let ended = try await transaction.run(ImportQueries.finish, app, progress.id)
      guard ended.first == true else { return }
      try await Event(
        "users_import",
        detail: ["import": .string(progress.id.text), "tally": progress.tally.json]
      ).record(in: transaction, app: app, context)
    }
  }
}
