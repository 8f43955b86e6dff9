import Delivery
import EventLoop
import IdentitySubjects
import JSON
import Postgres
import RateLimiting
package import Runtime
package import Sessions
import Tenancy

/// Links an address and a password to a user.
extension Identities {
  /// Links an email address and a password to the user, by the app's setting `sign_up`.
  ///
  /// A link is mailed that verifies the address. In `verify_first`, a code is mailed instead, which
  /// completes the link.
  /// - Parameters:
  ///   - credentials: the address and the password.
  ///   - user: the user.
  ///   - style: the protocol of the new session.
  ///   - context: the context of the request.
  /// - Returns: the new session; in `verify_first` a flow, for the address of another
  ///   user too. That user is mailed to sign in or to reset the password.
  /// - Throws: `.invalid`, `.emailTaken` unless in `verify_first`, `.identityExists` if the user has
  ///   an address, `.emailRestorePending`, `.mailNotConfigured` in `verify_first`,
  ///   `.additionalFactorRequired`, `.tooManyAttempts`, `.loginMethodDisabled`, `.sessionEnded`,
  ///   `.overloaded`, `.databaseUnavailable`.
  package static func linkPassword(
    _ credentials: Credentials, to user: UserID, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> Registration {
    try await context.requireSession(of: user)
    let address = try await credentials.admit(context)
    let account = try await Accounts.find(address, context)
    if account?.user != user, context.app.accountSettings.signUp == .verifyFirst {
      let own = try await context.read(EmailChangeQueries.own, user, context.principal).first
      guard let own else { throw context.gone }
      guard own.key == nil else { throw .identityExists }
      try await RateLimits.countChange(of: user, context)
      let flow = try await Users.mailCode(
        for: .link, of: user, credentials.email, password: credentials.password, address, context)
      return .codeMailed(flow: flow)
    }
    if let account {
      guard account.user == user else { throw .emailTaken }
      // Without a credential, the address comes from an issuer or an import.
      guard !account.isCredential else { throw .identityExists }
    }
    let hash = try await context.passwords.hash(credentials.password, for: context.owner)
    let mail =
      account?.isVerified == true
      ? nil : try await AccountMail.verification(of: user, credentials.email, address, context)
    let tokens = try await link(.password, to: user, as: style, context) {
      transaction async throws(Failure) in
      try await link(address, credentials.email, hash, to: user, in: transaction)
      mail?.queue(in: transaction)
      return (VerifiedCredential(of: user, .password(hash: hash)), isNew: true)
    }
    return .signedIn(tokens)
  }

  /// Completes the link of an address and a password by the mailed code, which verifies the address.
  ///
  /// - Returns: the new session.
  /// - Throws: `.invalidCode`, `.emailTaken` if another user has got the address meanwhile,
  ///   `.identityExists`, `.emailRestorePending`, `.additionalFactorRequired`,
  ///   `.loginMethodDisabled`, `.sessionEnded`, `.databaseUnavailable`.
  package static func linkPassword(
    by code: String, _ flow: String, to user: UserID, as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try context.requireOpen(.password)
    try await context.requireSession(of: user)
    let flow = try await AuthenticationFlow(code, flow, for: [.link], context)
    guard flow.user == user, let hash = flow.hash else { throw .invalidCode }
    return try await link(.password, to: user, as: style, context) {
      transaction async throws(Failure) in
      try await flow.use(in: transaction)
      try await link(flow.address, flow.email, hash, to: user, in: transaction)
      try await Accounts.markVerified(flow.address, of: user, in: transaction)
      return (VerifiedCredential(of: user, .password(hash: hash)), isNew: true)
    }
  }

  /// Writes an address of the user, who must be locked, and a password if there is one.
  static func link(
    _ address: EmailAddress, _ email: String, _ hash: String?, to user: UserID,
    in transaction: Transaction
  ) async throws(Failure) {
    let (app, key, identity) = (transaction.app.id, address.key, IdentityID())
    let found = try await transaction.run(EmailChangeQueries.own, user, transaction.principal)
    guard let own = found.first, own.key == nil else { throw .identityExists }
    if let asserted = own.address, !asserted.hasSameBytes(as: key) {
      Subjects.release([Subject(email: asserted)], of: user, in: transaction)
    }
    let taken = Accounts.sendTaking(address, for: user, identity, in: transaction)
    let added = hash.map { transaction.send(CredentialRowQueries.addPassword, user, $0) }
    let provider: IdentityProvider = hash == nil ? .email : .password
    _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, provider, key)
    let stored = EmailAddress.canonical(email)
    _ = transaction.send(IdentitiesQueries.setAddress, user, stored, key)
    try await taken()
    if let added, try await added.rows().isEmpty { throw .identityExists }
  }
}

extension Identities {
  /// Links the address and password of a registration to the user of the session.
  ///
  /// It deletes the user that the registration created, who has never logged in. The address and
  /// password move to the user of the session, and stay verified or unverified. Nothing changes if
  /// they already belong to that user. The session stays.
  /// - Throws: `.wrongCredentials` if no user has them, `.identityTaken` if their user has logged
  ///   in, `.identityExists` if the user of the session has an address, `.emailUnverified`,
  ///   `.emailRestorePending`, `.tooManyAttempts`, `.loginMethodDisabled`, `.sessionEnded`,
  ///   `.overloaded`, `.databaseUnavailable`.
  package static func linkRegistered(
    _ credentials: Credentials, to user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try await context.requireSession(of: user)
    let right = try await Users.compare(credentials, context)
    try await right.limiter.takeBack()
    let (account, address) = (right.account, right.address)
    if account.user == user { return }
    guard account.isUsable(context) else { throw .emailUnverified }
    // The earlier mailed token belongs to the registered user, who is deleted here.
    let mail =
      account.isVerified
      ? nil : try await AccountMail.verification(of: user, account.email, address, context)
    do throws(Failure) {
      try await context.transaction { transaction async throws(Failure) in
        // In the order of ids, so that two concurrent links do not deadlock.
        for user in [user, account.user].sorted(by: { $0.text < $1.text }) {
          _ = transaction.send(SessionsQueries.lockUser, user)
        }
        try await transaction.requireSession(of: user)
        try await requireNoRestore(of: user, in: transaction)
        // A reset may have changed the password during the comparison.
        let now = try await Accounts.find(address, of: account.user, in: transaction)
        guard let now else { throw .identityTaken }
        guard now.hash == account.hash, !now.isBlocked else { throw .wrongCredentials }
        let bare = try await transaction.run(UserOriginQueries.isBare, account.user)
        guard !bare.isEmpty else { throw .identityTaken }
        try await Users.remove(account.user, linkedTo: user, in: transaction)
        try await revokeGuestCredentials(of: user, in: transaction)
        try await link(
          address, account.email, right.renewed ?? right.hash, to: user, in: transaction
        )
        if now.isVerified {
          try await Accounts.markVerified(
            address, of: user, byReader: now.isVerifiedByReader, in: transaction
          )
        }
        mail?.queue(in: transaction)
        try await finish(.password, of: user, in: transaction)
      }
    } catch .identityTaken {
      // A concurrent link may already have moved the identity to this user.
      let holder = try await Accounts.latestHolder(of: address, context)
      guard holder == user else { throw .identityTaken }
    }
  }
}
