import Delivery
package import Runtime
package import Sessions
import EventLoop
import Postgres

/// The result of a registration, or of the link of an address to a user.
package enum Registration {
  case signedIn(Sessions.TokenSet)
  /// A code is mailed; the flow is sent with it.
  case codeMailed(flow: String)
}

extension Users {
  /// Registers an address and a password, by the app's setting `sign_up`.
  ///
  /// - Returns: the tokens of the new user; in `verify_first` a flow, for a known address too. The
  ///   user of a known address is mailed to sign in or to reset the password.
  /// - Throws: `.invalid`, `.emailTaken` in `immediate`, `.signUpClosed`, `.mailNotConfigured` in
  ///   `verify_first`, `.additionalFactorRequired`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func register(
    _ credentials: Credentials,
    as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> Registration {
    let address = try await admitRegistration(credentials, context)
    guard context.app.accountSettings.signUp == .immediate else {
      let flow = try await mailCode(for: .register, of: nil, credentials, address, context)
      return .codeMailed(flow: flow)
    }
    let account = try await newAccount(credentials, address, context)
    let grant = try await SignIn.complete(account.credential, as: style, context) {
      (transaction) async throws(Failure) in try await account.send(in: transaction, context)
    }
    return .signedIn(grant)
  }

  /// Registers an address and a password without a sign-in.
  ///
  /// Until the first sign-in, a user who knows the password can link the address.
  /// - Parameters:
  ///   - credentials: the address and the password.
  ///   - guest: an anonymous user who gets the credentials, and keeps id and data. If it cannot, a
  ///     new user gets them.
  ///   - context: the context of the request.
  ///   - completing: writes of the same transaction about the new user.
  /// - Returns: the user.
  /// - Throws: as `register`; `.emailTaken` also in `verify_first`; errors of the writes.
  @discardableResult
  @EventLoop package static func registerOnly(
    _ credentials: Credentials,
    linkingTo guest: Principal? = nil,
    _ context: RequestContext,
    completing: @EventLoop (Transaction, UserID) async throws(Failure) -> Void = { _, _ in }
  ) async throws(Failure) -> UserID {
    let address = try await admitRegistration(credentials, context)
    let linked = try await Guests.link(guest, context) { user async throws(Failure) in
      let account = try await newAccount(credentials, address, of: user, context)
      try await context.transaction { transaction async throws(Failure) in
        try await account.link(in: transaction, context)
        try await completing(transaction, user)
      }
      return user
    }
    if let linked { return linked }
    let account = try await newAccount(credentials, address, context)
    try await context.transaction { transaction async throws(Failure) in
      try await account.send(in: transaction, context)()
      _ = try await transaction.run(UserOriginQueries.register, account.user)
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
    by credentials: Credentials,
    orLinkedTo user: UserID?,
    _ context: RequestContext
  ) async throws(Failure) -> UserID {
    do throws(Failure) {
      let right = try await compare(credentials, context)
      try await right.guarding.takeBack()
      let owner = right.account.user
      let unused = try await context.readLatest(
        UserOriginQueries.isUnused,
        owner,
        owner == user
      )
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
    of email: String,
    _ context: RequestContext
  ) async throws(Failure) -> Set<LoginMethod>? {
    try EmailAddress.check(email, context)
    let settings = context.app.accountSettings
    let open = Set([LoginMethod.password, .emailCode].filter(settings.isOpen))
    guard settings.signUp == .immediate, settings.isOpen(.password) else { return open }
    let address = try await EmailAddress(email, context)
    try await RequestLimiter.lookup(context)
    guard let account = try await Accounts.find(address, context) else { return nil }
    return account.hash == nil ? open.subtracting([.password]) : open
  }

  /// Checks that the app accepts a registration, and counts it.
  @EventLoop private static func admitRegistration(
    _ credentials: Credentials,
    _ context: RequestContext
  ) async throws(Failure) -> EmailAddress {
    try context.requireOpen(.password)
    try context.requireOpenSignUp()
    try credentials.checkForRegistration(context.app)
    let address = try await EmailAddress(credentials.email, context)
    try await RequestLimiter.registration(of: address.key, context)
    return address
  }

  /// Checks that the address is free, and hashes the password of its new user.
  @EventLoop private static func newAccount(
    _ credentials: Credentials,
    _ address: EmailAddress,
    of user: UserID = UserID(),
    _ context: RequestContext
  ) async throws(Failure) -> NewAccount {
    guard try await Accounts.find(address, context) == nil else { throw .emailTaken }
    let hash = try await context.passwords.hash(credentials.password, for: context.owner)
    var account = NewAccount(credentials.email, address, of: user, hash: hash, isVerified: false)
    account.mail = try await verification(of: user, account.email, address, context)
    return account
  }

  /// Returns the mail that verifies the address of a new user; nil if none is sent.
  @EventLoop static func verification(
    of user: UserID,
    _ email: String,
    _ address: EmailAddress,
    _ context: RequestContext
  ) async throws(Failure) -> EmailToken? {
    guard context.mailer.isConfigured,
      try await RequestLimiter.mayMail(to: address.key, for: nil, context)
    else { return nil }
    return EmailToken(.verify, to: address.stored(email), of: user, in: nil, context)
  }

  /// Mails a code that completes a registration or a link, or informs the user of the address.
  ///
  /// Only the text of the mail differs between a known and an unknown address.
  @EventLoop static func mailCode(
    for purpose: AuthenticationFlow.Purpose,
    of user: UserID?,
    _ credentials: Credentials,
    _ address: EmailAddress,
    _ context: RequestContext
  ) async throws(Failure) -> String {
    guard context.mailer.isConfigured else { throw .mailNotConfigured }
    try address.requireMail(credentials.email)
    try await RequestLimiter.mail(to: address.key, for: nil, context)
    let hash = try await context.passwords.hash(credentials.password, for: context.owner)
    let account = try await Accounts.find(address, context)
    let flow = AuthenticationFlow.New(purpose, credentials.email, address, hash: hash, user: user)
    try await context.transaction { transaction async throws(Failure) in
      try await flow.write(in: transaction, context)
      if let account {
        try await AccountMail.sendTaken(to: account, in: transaction, context)
      } else {
        try await AccountMail.sendCode(of: flow, in: nil, in: transaction, context)
      }
    }
    return flow.text(context)
  }
}

extension RequestContext {
  /// Throws `.signUpClosed` if only the management API makes users.
  func requireOpenSignUp() throws(Failure) {
    guard app.accountSettings.signUp != .closed else { throw .signUpClosed }
  }
}
