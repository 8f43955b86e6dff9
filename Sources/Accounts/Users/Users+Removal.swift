package import Imaging
package import Postgres
package import Runtime
package import EventLoop
import JSON
import Sessions

extension Users {
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
    _ user: UserID, linkedTo heir: UserID? = nil, in transaction: Transaction
  ) async throws(Failure) -> String? {
    let app = transaction.app.id
    try await LogoutNotices.queue(of: user, app: app, isDeleted: true, in: transaction)
    let subjects = transaction.send(SubjectQueries.ofUser, user)
    let removed = transaction.send(UserRemovalQueries.remove, user)
    Subjects.release(try await subjects.rows(), of: user, in: transaction)
    let detail: JSON = heir.map { ["linked_to": .string($0.text)] } ?? [:]
    Event("user_delete", of: user, detail: detail).record(in: transaction)
    return try await removed.rows().first?.name
  }
}

package enum UserRemovalQueries {
  /// Deletes a user and returns its picture; no row if the user does not exist.
  ///
  /// Its subjects are deleted by their keys.
  package static let remove = Statement<ReplacedPicture, UserID>(
    "users.remove",
    """
    with flows as (delete from authentication_flows where place = $1),
      answers as (delete from idempotency_keys where owner = $1)
    delete from users where user_id = $1
    returning picture
    """)

  package static let all: [any PreparedStatement] = [remove]
}
