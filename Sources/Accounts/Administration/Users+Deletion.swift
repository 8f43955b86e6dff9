import Imaging
import Delivery
package import Runtime
package import Sessions
import EventLoop
import JSON

extension Users {
  /// Deletes a user with all stored data, and frees its addresses and identities for other users.
  ///
  /// The audit events of the user stay.
  /// - Parameters:
  ///   - user: the user.
  ///   - condition: the versions that the user may have.
  ///   - next: the user to activate next on the device of the session.
  ///   - context: the context of the request.
  /// - Throws: `.notFound`, `.sessionEnded`, `.preconditionFailed`, `.databaseUnavailable`.
  @EventLoop package static func delete(
    _ user: UserID,
    if condition: VersionCondition = VersionCondition(),
    next: NextActive = .mostRecent,
    _ context: RequestContext
  ) async throws(Failure) {
    let picture = try await change(user, if: condition, context) {
      (transaction, _) async throws(Failure) in
      try await SecurityNotice.deleted.notice(of: user, in: transaction)
        .queue(in: transaction)
      try await SecurityNotice.deleted.queueForRestorable(of: user, in: transaction)
      if next == .none || !context.app.sessionSettings.allowsSwitching {
        try await Devices.deactivate(user, in: transaction)
      }
      return try await remove(user, in: transaction)
    }
    await context.pictures.shelf.forget(picture)
  }

  /// Deletes a locked user in a transaction, and records it.
  ///
  /// The maintenance and the deletion of an app run the same statement.
  /// - Parameters:
  ///   - user: the user.
  ///   - heir: the user to whom the credentials go; nil for none.
  ///   - transaction: the transaction.
  /// - Returns: the name of the picture, whose file is to be deleted after the commit.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult
  @EventLoop package static func remove(
    _ user: UserID,
    linkedTo heir: UserID? = nil,
    in transaction: Transaction
  ) async throws(Failure) -> String? {
    let app = transaction.app.id
    try await LogoutNotices.queue(of: user, in: app, isDeleted: true, transaction)
    let subjects = transaction.send(SubjectQueries.ofUser, user)
    let removed = transaction.send(UsersAdministrationQueries.remove, user)
    Subjects.release(try await subjects.rows(), of: user, in: transaction)
    let detail: JSON = heir.map { ["linked_to": .string($0.text)] } ?? [:]
    Event("user_delete", of: user, detail: detail).record(in: transaction)
    return try await removed.rows().first?.name
  }
}
