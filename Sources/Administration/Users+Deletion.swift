package import Accounts
import Imaging
import Delivery
package import Runtime
package import Sessions
import EventLoop

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
    _ user: UserID, if condition: VersionCondition = VersionCondition(),
    next: NextActive = .mostRecent, _ context: RequestContext
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
}
