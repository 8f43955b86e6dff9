import Accounts
import EventLoop
import JSON
import Postgres
import Runtime

/// The writes for the rows of one transaction.
struct ImportBatch {
  /// Nil for a user who is created singly.
  private let `import`: ImportID?
  private(set) var writes: [ImportWrite] = []

  init(import id: ImportID?) { `import` = id }

  /// Adds a row to the batch, and returns its outcome.
  mutating func add(
    _ row: ImportedUser, _ match: ImportMatch, _ action: ImportAction
  ) -> (UserID?, ImportResult.Outcome) {
    switch action {
    case .fail(let user, let faults): return (user, .failed(faults))
    case .skip(let user): return (user, .skipped)
    case .create(let user):
      let isVerified = row.isVerified ?? false
      writes.append(ImportWrite(row, match, user, stored: nil, isVerified: isVerified))
      return (user, .created)
    case .update(let user, let wasVerified):
      let isVerified = row.isVerified ?? wasVerified
      writes.append(ImportWrite(row, match, user.id, stored: user, isVerified: isVerified))
      return (user.id, .updated)
    }
  }

  /// Runs `body`, which examines and writes rows, and repeats it after a conflict.
  ///
  /// Another transaction may create one of the users, or take an address or identity, between the
  /// two steps. The next examination then finds its changes.
  /// - Throws: errors of `body`; `.identityTaken` only after several attempts.
  @EventLoop static func repeating<Outcome>(
    _ body: @EventLoop () async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    for _ in 0..<8 {
      do throws(Failure) {
        return try await body()
      } catch .identityTaken {
        continue
      }
    }
    return try await body()
  }

  /// Writes the batch.
  ///
  /// - Throws: `.identityTaken` if another transaction has created one of the users, or has taken
  ///   an address or identity, since the rows were examined.
  @EventLoop func write(in transaction: Transaction) async throws(Failure) {
    let context = transaction.context
    guard !writes.isEmpty else { return }
    let writing = ImportWriting(transaction: transaction)
    try await writing.write(writes)
    guard let `import` else { return }
    // The events name no session, as the rows have none.
    let place = EventPlace(session: nil, device: nil)
    for write in writes {
      let status: JSON = write.stored == nil ? "created" : "updated"
      let detail: JSON = ["import": .string(`import`.text), "status": status]
      Event("user_import", of: write.user, at: place, detail: detail)
        .record(in: transaction, by: context.principal)
    }
  }
}
