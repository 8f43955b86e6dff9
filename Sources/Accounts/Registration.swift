import Delivery
package import EventLoop
import JSON
import Postgres
import RateLimiting
package import Runtime
package import Sessions
import Tenancy

/// The result of a registration, or of the link of an address to a user.
package enum Registration {
  case signedIn(OpenSession)
  /// A code is mailed; the flow is sent with it.
  case codeMailed(flow: String)
}

extension Users {
  /// Registers an address and a password, by the app's setting `sign_up`.
  ///
  /// - Returns: the session of the new user; in `verify_first` a flow, for a known address too. The
  ///   user of a known address is mailed to sign in or to reset the password.
  /// - Throws: `.invalid`, `.emailTaken` in `immediate`, `.signUpClosed`, `.mailNotConfigured` in
  ///   `verify_first`, `.additionalFactorRequired`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func register(
    _ credentials: Credentials, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> Registration {
    try context.requirePasswordSignUp()
    let address = try await credentials.admit(context)
    guard context.app.accountSettings.signUp == .immediate else {
      let flow = try await mailCode(
        for: .register, of: nil, credentials.email, password: credentials.password, address, context
      )
      return .codeMailed(flow: flow)
    }
    let account = try await NewAccount(credentials, address, context)
    return .signedIn(
      try await SignIn.complete(account.credential, as: style, context, account.create)
    )
  }

  /// Registers an address and a password without a sign-in.
  ///
  /// Until the first sign-in, a user who knows the password can link the address.
  /// - Parameters:
  ///   - credentials: the address and the password.
  ///   - guest: an anonymous user who gets the address, and keeps id and data. If that is
  ///     impossible, a new user gets it.
  ///   - context: the context of the request.
  ///   - completing: writes of the same transaction about the new user.
  /// - Returns: the user.
  /// - Throws: as `register`; `.emailTaken` also in `verify_first`; errors of the writes.
  @discardableResult
  @EventLoop package static func registerOnly(
    _ credentials: Credentials, linkingTo guest: Principal? = nil, _ context: RequestContext,
    completing: @EventLoop (Transaction, UserID) async throws(Failure) -> Void = { _, _ in }
  ) async throws(Failure) -> UserID {
    try context.requirePasswordSignUp()
    let address = try await credentials.admit(context)
    let linked = try await Guests.link(guest, context) { user async throws(Failure) in
      let account = try await NewAccount(credentials, address, of: user, context)
      try await context.transaction { transaction async throws(Failure) in
        _ = try await account.link(in: transaction)
        try await completing(transaction, user)
      }
      return user
    }
    if let linked { return linked }
    let account = try await NewAccount(credentials, address, context)
    try await context.transaction { transaction async throws(Failure) in
      try await account.create(in: transaction)()
      _ = transaction.send(UserOriginQueries.register, account.user)
      try await completing(transaction, account.user)
    }
    return account.user
  }

  /// Returns the user whom the same credentials have registered, after the response was lost.
  ///
  /// - Parameters:
  ///   - credentials: the address and the password.
  ///   - user: a user whom an earlier request may have linked the credentials to; nil for none.
  ///   - context: the context of the request.
  /// - Returns: the user.
  /// - Throws: `.emailTaken` for other credentials, and if the user has signed in since;
  ///   `.tooManyAttempts`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func registered(
    by credentials: Credentials, orLinkedTo user: UserID?, _ context: RequestContext
  ) async throws(Failure) -> UserID {
    do throws(Failure) {
      let right = try await compare(credentials, context)
      try await right.limiter.takeBack()
      let owner = right.account.user
      let unused = try await context.read(
        UserOriginQueries.isUnused, owner, owner == user, on: .exclusive)
      if !unused.isEmpty { return owner }
    } catch .wrongCredentials {
      // The address belongs to another user.
    }
    throw .emailTaken
  }

  /// Returns the methods by which the user of an address may sign in; nil without a user.
  ///
  /// Clients ask before they show a form. A registration would tell about the user too if the app
  /// has `immediate` and passwords. Otherwise the result is the same for every address.
  /// - Throws: `.invalid`, `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop package static func methods(
    of email: String, _ context: RequestContext
  ) async throws(Failure) -> Set<LoginMethod>? {
    try EmailAddress.check(email, context)
    let settings = context.app.accountSettings
    let open = Set([LoginMethod.password, .emailCode].filter(settings.isOpen))
    guard settings.signUp == .immediate, settings.isOpen(.password) else { return open }
    let address = try await EmailAddress(email, context)
    try await RequestLimiter.lookup(context)
    guard let account = try await Accounts.findSigner(address, context) else { return nil }
    return account.hash == nil ? open.subtracting([.password]) : open
  }

  /// Checks that no user has an address, for clients that ask before they register.
  ///
  /// - Throws: `.invalid`, `.emailTaken`, `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop package static func requireFree(
    _ email: String, _ context: RequestContext
  ) async throws(Failure) {
    try EmailAddress.check(email, context)
    let address = try await EmailAddress(email, context)
    try await RequestLimiter.lookup(context)
    guard try await Accounts.holder(of: address, context) == nil else { throw .emailTaken }
  }

  /// Mails a code that completes a registration or a link, or informs the user of the address.
  ///
  /// Only the text of the mail differs between a known and an unknown address.
  @EventLoop static func mailCode(
    for purpose: AuthenticationFlow.Purpose, of user: UserID?, _ email: String, password: String?,
    _ address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> String {
    try context.mailer.requireConfigured()
    try await RequestLimiter.mail(to: address.key, for: nil, context)
    var hash: String?
    if let password { hash = try await context.passwords.hash(password, for: context.owner) }
    let account = try await Accounts.find(address, context)
    let flow = AuthenticationFlow.New(purpose, email, address, hash: hash, user: user)
    return try await AccountMail.begin(flow, takenBy: account, in: nil, context)
  }

  /// Mails another code of a registration, or informs the user of the address once more.
  ///
  /// The flow and its password stay, and the code from before works no longer.
  /// - Parameters:
  ///   - flow: the flow of the registration.
  ///   - email: its address.
  ///   - context: the context of the request.
  /// - Returns: whether the flow still waits for a code.
  /// - Throws: `.mailNotConfigured`, `.signUpClosed`, `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop package static func mailCodeAgain(
    of flow: String, to email: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    try context.mailer.requireConfigured()
    try context.requireOpenSignUp()
    let address = try await EmailAddress(email, context)
    try await RequestLimiter.mail(to: address.key, for: nil, context)
    let account = try await Accounts.find(address, context)
    return try await context.transaction { transaction async throws(Failure) in
      let renewed = try await AuthenticationFlow.replaceCode(
        ofRegistration: flow, email, address, in: transaction)
      guard let renewed else { return false }
      AccountMail.send(renewed, takenBy: account, in: nil, transaction)
      return true
    }
  }

  /// Mails a code that completes the registration of a user without a password.
  ///
  /// - Parameters:
  ///   - email: a valid address.
  ///   - context: the context of the request.
  /// - Returns: the flow of the code.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop package static func mailCode(
    toRegister email: String, _ context: RequestContext
  ) async throws(Failure) -> String {
    try context.mailer.requireConfigured()
    let address = try await EmailAddress(email, context)
    try await RequestLimiter.registration(of: address.key, context)
    return try await mailCode(
      for: .register, of: nil, email, password: nil, address, context)
  }
}

extension RequestContext {
  /// Throws `.signUpClosed` if only the management API makes users.
  package func requireOpenSignUp() throws(Failure) {
    guard app.accountSettings.signUp != .closed else { throw .signUpClosed }
  }

  /// Throws `.signUpClosed`, or `.loginMethodDisabled` if new users need a passkey.
  fileprivate func requirePasswordSignUp() throws(Failure) {
    try requireOpenSignUp()
    guard !app.passkeySettings.isRequired else {
      throw .loginMethodDisabled(
        "The app's setting passkey is required: new users sign up with a passkey.",
        members: [("setting", "passkey")])
    }
  }

  /// Throws `.signUpClosed` if a registration without a code would reveal who has an account.
  package func requireImmediateSignUp() throws(Failure) {
    guard app.accountSettings.signUp == .immediate else { throw .signUpClosed }
  }
}

/// A user who is about to get an address: a new user, or a guest.
@EventLoop package struct NewAccount {
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
  package init(
    by flow: AuthenticationFlow, of user: UserID = UserID(), _ context: RequestContext
  ) {
    (self.user, self.flow, self.context) = (user, flow, context)
    (email, address, hash, mail) = (flow.email, flow.address, flow.hash, nil)
  }

  /// Prepares a user without a password, if the address is free.
  ///
  /// - Throws: `.emailTaken`, `.databaseUnavailable`.
  package init(
    _ email: String, _ address: EmailAddress, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    guard try await Accounts.holder(of: address, context) == nil else { throw .emailTaken }
    mail = try await AccountMail.verification(of: user, email, address, context)
    (self.user, self.address, self.context, self.email) = (user, address, context, email)
    (flow, hash) = (nil, nil)
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
  package func create(in transaction: Transaction) async throws(Failure) -> Completion {
    try await flow?.use(in: transaction)
    let (app, identity) = (context.app.id, IdentityID())
    let (provider, key) = (credential.provider, address.key)
    let taken = Accounts.sendTaking(address, for: user, identity, in: transaction)
    let stored = EmailAddress.canonical(email)
    _ = transaction.send(AccountQueries.create, user, app, stored, flow != nil)
    transaction.recordSignUp(of: user)
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
