package import Delivery
package import Runtime
import Sessions
package import EventLoop
import Postgres

/// A token from a mail that a client presents.
package struct PresentedEmailToken {
  package let user: UserID
  package let subject: MailedSubject
  private let purpose: EmailToken.Purpose
  private let tokenHash: BinaryBytes

  /// Reads a mailed token, which stays valid.
  ///
  /// - Throws: `.invalidMailToken`, `.databaseUnavailable`.
  @EventLoop package init(
    _ text: String, for purpose: EmailToken.Purpose, _ context: RequestContext
  ) async throws(Failure) {
    let master = context.keys.master
    guard let token = Credential(purpose.kind, text, master) else { throw .invalidMailToken }
    self.purpose = purpose
    user = token.owner()
    tokenHash = token.hash(master)
    let found = try await context.read(
      MailTokenQueries.look, user, purpose.rawValue, tokenHash, context.app.id
    )
    guard let subject = found.first else { throw .invalidMailToken }
    self.subject = subject
  }

  /// Returns whether a token that is not valid any more would verify an address again.
  ///
  /// It was mailed by this server, and the address of its user is verified now.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func isFulfilled(
    _ text: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let token = Credential(EmailToken.Purpose.verify.kind, text, context.keys.master) else {
      return false
    }
    let user: UserID = token.owner()
    let found = try await context.read(PresentedEmailTokenQueries.isVerified, user, context.app.id)
    return !found.isEmpty
  }

  var address: EmailAddress { EmailAddress(key: subject.key) }

  /// Locks the user, and uses the token up.
  ///
  /// - Returns: when the token was mailed, in microseconds since 1970.
  /// - Throws: `.invalidMailToken` if another request was first.
  @discardableResult
  @EventLoop func use(in transaction: Transaction) async throws(Failure) -> Int {
    // Concurrent sign-ins and changes run before this, or find its result.
    _ = transaction.send(SessionsQueries.lockUser, user)
    let taken = try await transaction.run(
      MailTokenQueries.take, user, purpose.rawValue, tokenHash, transaction.app.id
    )
    guard let end = taken.first else { throw .invalidMailToken }
    return end - purpose.lifetime.wholeSeconds * 1_000_000
  }

  /// Locks the user, uses the token up, and returns the account.
  ///
  /// - Throws: `.invalidMailToken` if another request was first, or the user has another address.
  @EventLoop func useForAccount(in transaction: Transaction) async throws(Failure) -> Account {
    try await use(in: transaction)
    let account = try await Accounts.find(address, of: user, in: transaction)
    guard let account else { throw .invalidMailToken }
    return account
  }
}

package enum PresentedEmailTokenQueries {
  /// Returns one row if the address of a user is verified.
  static let isVerified = Statement<UserID, UserID, AppID>(
    "presented_email_tokens.is_verified",
    """
    select user_id from users
    where user_id = $1 and app_id = $2 and email_verified and blocked_at is null
    """)
}
