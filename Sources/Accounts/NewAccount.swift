import Sessions
import Delivery
import Runtime
import EventLoop
import Postgres

/// A user who is about to get an address: a new user, or a guest.
@EventLoop struct NewAccount {
  let user: UserID
  /// The address as the user wrote it.
  let email: String
  let address: EmailAddress
  /// The hash of the password; nil for a user who signs in by codes.
  let hash: String?
  /// The flow whose code has verified the address; nil if the address is not verified.
  let flow: AuthenticationFlow?
  /// The mail that verifies the address; nil if none is sent.
  let mail: EmailToken?
  let context: RequestContext

  /// Prepares the user of a flow whose code was right.
  init(by flow: AuthenticationFlow, of user: UserID = UserID(), _ context: RequestContext) {
    (self.user, self.flow, self.context) = (user, flow, context)
    (email, address, hash, mail) = (flow.email, flow.address, flow.hash, nil)
  }

  /// Hashes the password of a registration, if its address is free.
  ///
  /// - Throws: `.emailTaken`, `.overloaded`, `.databaseUnavailable`.
  init(
    _ credentials: Credentials, _ address: EmailAddress, of user: UserID = UserID(),
    _ context: RequestContext
  ) async throws(Failure) {
    guard try await Accounts.holder(of: address, context) == nil else { throw .emailTaken }
    hash = try await context.passwords.hash(credentials.password, for: context.owner)
    email = credentials.email
    mail = try await AccountMail.verification(of: user, email, address, context)
    (self.user, self.address, self.context) = (user, address, context)
    flow = nil
  }

  /// The credential by which the user signs in first.
  var credential: VerifiedCredential {
    let kind: VerifiedCredential.Kind =
      hash.map { .password(hash: $0) } ?? .email(key: address.key)
    return VerifiedCredential(of: user, kind, isOfNewUser: true)
  }

  /// Sends the statements that make the user and queue the mail, and uses the code up.
  ///
  /// - Returns: a function that waits, and throws `.emailTaken` if another user has the address.
  func create(in transaction: Transaction) async throws(Failure) -> Completion {
    try await flow?.use(in: transaction)
    let (app, identity) = (context.app.id, IdentityID())
    let (provider, key) = (credential.provider, address.key)
    let taken = Accounts.sendTaking(address, for: user, identity, in: transaction)
    let stored = EmailAddress.canonical(email)
    _ = transaction.send(AccountQueries.create, user, app, stored, flow != nil)
    _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, provider, key)
    if let hash { _ = transaction.send(CredentialRowQueries.addPassword, user, hash) }
    if let mail {
      // The token of the mail belongs to the user, who must be there.
      try await taken()
      mail.queue(in: transaction)
    }
    return taken
  }
}
