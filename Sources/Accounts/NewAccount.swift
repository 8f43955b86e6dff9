import Sessions
import Delivery
import Runtime
import EventLoop
import Postgres

/// A user who is about to be made, with an address.
@EventLoop struct NewAccount {
  package let user: UserID
  /// The address as the user wrote it.
  package let email: String
  let address: EmailAddress
  /// The hash of the password; nil for a user who signs in by codes.
  package let hash: String?
  /// Whether a mailed code has verified the address.
  let isVerified: Bool
  /// The mail that verifies the address; nil if none is sent.
  var mail: EmailToken?

  init(
    _ email: String,
    _ address: EmailAddress,
    of user: UserID = UserID(),
    hash: String?,
    isVerified: Bool
  ) {
    (self.email, self.address, self.user) = (email, address, user)
    (self.hash, self.isVerified) = (hash, isVerified)
  }

  /// The credential by which the user signs in first.
  var credential: VerifiedCredential {
    let kind: VerifiedCredential.Kind =
      hash.map { .password(hash: $0) } ?? .email(key: address.key)
    return VerifiedCredential(of: user, kind, isOfNewUser: true)
  }

  /// Sends the statements that make the user and queue the mail.
  ///
  /// - Returns: a function that waits, and throws `.emailTaken` if another user has the address.
  func send(in transaction: Transaction, _ context: RequestContext)
    async throws(Failure) -> Completion
  {
    let made = transaction.send(
      AccountQueries.create,
      user,
      context.app.id,
      IdentityID(),
      address.stored(email),
      address.key,
      hash,
      isVerified
    )
    if let mail {
      // The token of the mail belongs to the user, who must be there.
      try await made.rows(undone: .emailTaken)
      try await mail.queue(in: transaction)
    }
    return { () async throws(Failure) in try await made.rows(undone: .emailTaken) }
  }
}
