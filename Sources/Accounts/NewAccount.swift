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
  private(set) var mail: EmailToken?

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

  /// Hashes the password of a registration, if its address is free.
  ///
  /// - Throws: `.emailTaken`, `.overloaded`, `.databaseUnavailable`.
  init(
    _ credentials: Credentials,
    _ address: EmailAddress,
    of user: UserID = UserID(),
    _ context: RequestContext
  ) async throws(Failure) {
    guard try await Accounts.find(address, context) == nil else { throw .emailTaken }
    let hash = try await context.passwords.hash(credentials.password, for: context.owner)
    self.init(credentials.email, address, of: user, hash: hash, isVerified: false)
    mail = try await AccountMail.verification(of: user, email, address, context)
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
    let (app, identity) = (context.app.id, IdentityID())
    let (provider, key) = (hash == nil ? "email" : "password", address.key)
    let taken = Accounts.sendTaking(address, for: user, identity, in: transaction, context)
    _ = transaction.send(AccountQueries.create, user, app, address.stored(email), isVerified)
    _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, provider, key)
    if let hash { _ = transaction.send(CredentialRowQueries.addPassword, user, hash) }
    if let mail {
      // The token of the mail belongs to the user, who must be there.
      try await taken()
      try await mail.queue(in: transaction)
    }
    return taken
  }
}
