import Accounts
import Documents
package import EventLoop
package import JSON
import Postgres
package import Runtime

/// A line of the input of an import.
package struct ImportLine: Sendable {
  /// The line number, from 1.
  package let number: Int
  package let content: Result<ImportedUser, Failure>
  /// The input position after this line.
  package let end: InputPosition

  package init(number: Int, content: Result<ImportedUser, Failure>, end: InputPosition) {
    self.number = number
    self.content = content
    self.end = end
  }
}

/// An import of users from another system or deployment, in batches.
///
/// One transaction writes a batch, its results and the input position. An import that is killed has
/// therefore done and recorded a batch, or neither. The progress is in the database for that
/// reason: a file could differ from the data after a kill.
@EventLoop package final class UserImport {
  package private(set) var progress: ImportProgress
  private let existing: ExistingUser
  private let context: RequestContext
  /// The batch size while bisecting for the row that the database rejects.
  private var step = 1 << 20
  private var app: AppID { context.app.id }

  private init(_ progress: ImportProgress, _ existing: ExistingUser, _ context: RequestContext) {
    self.progress = progress
    self.existing = existing
    self.context = context
  }

  /// Starts an import, or resumes the import of that source.
  ///
  /// - Parameters:
  ///   - source: the name of the input; an app keeps only the newest import of it.
  ///   - existing: the handling of lines whose user already exists.
  ///   - isResumed: whether to resume the import of that source, if there is one.
  ///   - context: the context of the request; its app gets the users.
  /// - Returns: the import; skip the part of the input that `progress` covers.
  /// - Throws: `.databaseUnavailable`.
  package static func open(
    _ source: String, _ existing: ExistingUser, isResumed: Bool, _ context: RequestContext
  ) async throws(Failure) -> UserImport {
    let found = try await context.transaction { transaction async throws(Failure) in
      let app = context.app.id
      if isResumed,
        let progress = try await transaction.run(ImportQueries.find, app, source).first
      {
        return progress
      }
      let begun = try await transaction.run(
        ImportQueries.begin, app, source, ImportID(), !isResumed
      )
      guard let progress = begun.first else {
        // Another run has begun the import since this one looked for it.
        let found = try await transaction.run(ImportQueries.find, app, source)
        return try found.first.orUnforeseen("an import")
      }
      Event(
        "users_import_begin",
        detail: ["import": .string(progress.id.text), "source": .string(source)]
      ).record(in: transaction)
      return progress
    }
    return UserImport(found, existing, context)
  }

  /// Writes as many of the first lines as fit in one transaction, and removes them from `lines`.
  ///
  /// Call it until `lines` is empty.
  /// - Returns: the results of the lines, also in `progress` as lines of JSON.
  /// - Throws: `.preconditionFailed` if another run continues this import; `.overloaded`,
  ///   `.databaseUnavailable`: the lines may or may not be written, which resuming the import finds
  ///   out.
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
        // The rejected row is found, or is in a later batch.
        if step < 1 << 20 { step *= 2 }
        return results
      } catch {
        // Only the database knows the broken rule: bisect for the row.
        guard error.isOfOneRow else { throw error }
        if batch.count > 1 {
          step = batch.count / 2
          continue
        }
        let line = batch[0]
        let refused = ImportLine(
          number: line.number, content: .failure(.invalid([error.importFault])), end: line.end
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
    _ lines: [ImportLine], in transaction: Transaction
  ) async throws(Failure) -> (results: [ImportResult], progress: ImportProgress) {
    // Before any write: serializes two runs of one import, and the later run stops.
    let place = try await transaction.run(ImportQueries.lock, app, progress.id)
    guard place.first == progress.lines else {
      throw .preconditionFailed(current: place.first ?? 0)
    }
    var batch = ImportBatch(import: progress.id)
    let rows = lines.map { try? $0.content.get() }
    let matches = try await ImportExamination.matches(
      of: rows, isForUpdate: existing.isChanged, in: app, transaction
    )
    var done: Set<UserID> = []
    if existing == .require {
      let ids = rows.compactMap { $0?.id }.list
      done = Set(try await transaction.run(ImportQueries.done, app, ids, progress.id))
    }
    var keys = BatchConflictKeys()
    var results: [ImportResult] = []
    for (index, line) in lines.enumerated() {
      var user: UserID?
      let outcome: ImportResult.Outcome
      var leftOut: [FieldError] = []
      switch line.content {
      case .failure(let failure): outcome = .failed(failure.importFaults)
      case .success(let row):
        let match = try matches[index].orUnforeseen("a row that was examined")
        guard keys.take(row, match) else {
          return try await commit(batch, results, lines, in: transaction)
        }
        let isDone = row.id.map(done.contains) ?? false
        let action = isDone ? .duplicate(row.id) : ImportAction(row, match, existing)
        (user, outcome) = batch.add(row, match, action)
        if outcome.isWritten { leftOut = row.leftOut }
      }
      results.append(
        ImportResult(line: line.number, user: user, outcome: outcome, leftOut: leftOut)
      )
    }
    return try await commit(batch, results, lines, in: transaction)
  }

  private func commit(
    _ batch: ImportBatch, _ results: [ImportResult], _ lines: [ImportLine],
    in transaction: Transaction
  ) async throws(Failure) -> (results: [ImportResult], progress: ImportProgress) {
    try await batch.write(in: transaction)
    var tally = progress.tally
    for result in results { tally.count(result.outcome) }
    let end = lines[results.count - 1].end
    let text = results.map(\.text).joined()
    let written = try await transaction.run(
      ImportQueries.advance, app, progress.id,
      TextBytes(JSON.array([tally.json, position(end)]).serialized()), end.digest,
      TextBytes(Array(text.utf8))
    )
    return (results, try written.first.orUnforeseen("an import that goes on"))
  }

  private func position(_ end: InputPosition) -> JSON {
    ["lines": .number(JSONNumber(end.lines)), "bytes": .number(JSONNumber(end.bytes))]
  }

  /// Finishes the import, after the results are stored elsewhere.
  ///
  /// - Throws: `.databaseUnavailable`.
  package func finish() async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      let ended = try await transaction.run(ImportQueries.finish, app, progress.id)
      guard ended.first == true else { return }
      Event(
        "users_import", detail: ["import": .string(progress.id.text), "tally": progress.tally.json]
      ).record(in: transaction)
    }
  }
}

extension Failure {
  /// Whether the failure concerns one row, so that other rows can still be written.
  var isOfOneRow: Bool {
    switch self {
    case .databaseUnavailable, .overloaded, .preconditionFailed: false
    default: true
    }
  }

  var importFaults: [FieldError] { self.is(.invalid) ? faults : [importFault] }

  var importFault: FieldError {
    switch self {
    case .identityTaken:
      FieldError(
        "", "identity_taken",
        "Another user has just been given this identity. Import the line again."
      )
    case .documentTooLarge:
      FieldError(
        "", "document_size", "The document is too large in the form that the database stores."
      )
    default:
      FieldError("", "refused", "The database refuses the row\(report.map { ": \($0)" } ?? ".")")
    }
  }
}

/// A reader of the lines that another system exports.
package protocol ForeignReader: Sendable {
  /// Returns the line in Dossier's import format.
  ///
  /// - Throws: `.invalid` if the line has another form.
  func translated(_ text: [UInt8]) throws(Failure) -> TranslatedLine
}

/// A line of another system in Dossier's import format.
package struct TranslatedLine: Sendable {
  package let row: JSON
  /// Roles of the user, which rows have no member for.
  package let roles: [RoleID]
  /// The parts of the line that are not in the row, with the reasons.
  package let leftOut: [FieldError]

  package init(_ row: JSONObject, roles: [RoleID] = [], leftOut: [FieldError] = []) {
    (self.row, self.roles, self.leftOut) = (.object(row), roles, leftOut)
  }
}

extension ForeignReader {
  /// Parses a line.
  ///
  /// - Throws: `.invalid`.
  package static func parse(_ text: [UInt8]) throws(Failure) -> JSON {
    do throws(JSONError) {
      return try JSON.parse(text)
    } catch {
      throw .invalid([FieldError(error)])
    }
  }
}
