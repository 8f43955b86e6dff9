import EventLoop
import JSON
import Postgres
import Runtime

/// Finds out what an import would do, and writes nothing.
///
/// A line that shares a key with an earlier one counts as one of a user that exists. The database
/// may still reject a line that this accepts, such as one whose document it stores in a longer form.
@EventLoop struct ImportRehearsal {
  private let existing: ExistingUser
  private var keys = BatchConflictKeys()

  init(_ existing: ExistingUser) { self.existing = existing }

  /// Returns the results that lines would have.
  ///
  /// - Throws: `.overloaded`, `.databaseUnavailable`.
  mutating func results(
    of lines: [ImportLine], _ context: RequestContext
  ) async throws(Failure) -> [ImportResult] {
    let rows = lines.map { try? $0.content.get() }
    let app = context.app.id
    let matches = try await context.transaction { transaction async throws(Failure) in
      try await ImportExamination.matches(of: rows, isForUpdate: false, in: app, transaction)
    }
    var batch = ImportBatch(import: nil)
    var results: [ImportResult] = []
    for (index, line) in lines.enumerated() {
      var user: UserID?
      let outcome: ImportResult.Outcome
      var leftOut: [FieldError] = []
      switch line.content {
      case .failure(let failure): outcome = .failed(failure.importFaults)
      case .success(let row):
        let match = try matches[index].orUnforeseen("a row that was examined")
        if keys.take(row, match) {
          (user, outcome) = batch.add(row, match, ImportAction(row, match, existing))
        } else {
          outcome = repeated
        }
        if outcome.isWritten { leftOut = row.leftOut }
      }
      results.append(
        ImportResult(line: line.number, user: user, outcome: outcome, leftOut: leftOut))
    }
    return results
  }

  /// The outcome of a line for the user of an earlier line.
  private var repeated: ImportResult.Outcome {
    switch existing {
    case .skip: .skipped
    case .update: .updated
    case .fail, .require:
      .failed([
        FieldError("", "duplicate", "An earlier line has the same user, address or identity.")
      ])
    }
  }
}
