package import EventLoop

extension Database {
  /// Runs `body` in a transaction: commits if it returns, rolls back if it throws.
  ///
  /// After a lock or version conflict with another transaction, `body` runs again. So a rollback
  /// must undo all its effects, and it must not request another connection. It should use the rows
  /// of one user.
  package func transaction<Value>(
    for owner: (any JobOwner)? = nil,
    _ body: @EventLoop (DatabaseTransaction) async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    try await retryingConflicts { () async throws(DatabaseError) in
      try await exclusive.withConnection(for: owner) { (connection) async throws(DatabaseError) in
        try await DatabaseTransaction.run(
          on: connection, guardian.nodes, beforeCommit: beforeCommit, body
        )
      }
    }
  }

  /// Runs `body` up to four times, while it fails with version conflicts or lock time-outs.
  func retryingConflicts<Value>(
    _ body: @EventLoop () async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    var attempt = 1
    while true {
      do throws(DatabaseError) {
        return try await body()
      } catch {
        if error.serverFault != nil { writeFault = error }
        guard error.isConflict, attempt < 4 else { throw error }
        await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...(attempt * 10))))
        attempt += 1
      }
    }
  }
}
