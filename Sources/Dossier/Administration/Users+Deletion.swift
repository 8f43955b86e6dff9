import EventLoop

extension Users {
  /// Deletes a user with everything that is stored about the user; other users can then have its
  /// addresses and identities.
  ///
  /// The audit trail stays, and the caller records the deletion in it.
  /// - Parameters:
  ///   - user: which.
  ///   - transaction: of the deletion.
  /// - Returns: the name of the user's picture, whose file the caller deletes after the commit; nil
  ///   for none.
  /// - Throws: `.notFound` if there is no such user, `.overloaded`, `.unavailable`.
  @EventLoop static func remove(
    _ user: UserID,
    in transaction: Transaction
  ) async throws(Failure) -> String? {
    let removed = try await transaction.run(UsersAdministrationQueries.remove, user)
    guard let removed = removed.first else { throw .notFound }
    return removed.name
  }
}
