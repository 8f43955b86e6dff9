import Delivery
import RateLimiting
package import Runtime
package import Sessions
import EventLoop
import Outbound
import Postgres

/// Sign-in and sign-up by a mailed code.
package enum EmailCodes {
  /// Mails a code to an address, whether or not a user has it.
  ///
  /// - Returns: the flow, which the client sends with the code.
  /// - Throws: `.invalid`, `.loginMethodDisabled`, `.mailNotConfigured`, `.tooManyAttempts`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func request(
    for email: String, _ context: RequestContext
  ) async throws(Failure) -> String {
    try await mail(.signIn, to: email, context).text(context)
  }

  /// Mails a code that proves an address whose user has not proved it yet.
  ///
  /// It works in an app without sign-in by codes too, as that of a registration does.
  /// - Returns: the flow.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop package static func requestProof(
    of email: String, _ context: RequestContext
  ) async throws(Failure) -> String {
    try await mail(.register, to: email, context).text(context)
  }

  /// Mails a code that a client exchanges with the address, whether or not a user has it.
  ///
  /// - Returns: the id of the flow, which the client does not need.
  /// - Throws: as `request`.
  @EventLoop package static func start(
    for email: String, _ context: RequestContext
  ) async throws(Failure) -> FlowID {
    try await mail(.passwordless, to: email, context).id
  }

  /// Mails a code that works alone, from the network that asked for it.
  ///
  /// - Throws: as `request`.
  @EventLoop package static func start(
    for email: String, digits: Int, _ context: RequestContext
  ) async throws(Failure) {
    _ = try await mail(.networkSignIn, to: email, digits: digits, context)
  }

  @EventLoop private static func mail(
    _ purpose: AuthenticationFlow.Purpose, to email: String,
    digits: Int = AuthenticationFlow.length, _ context: RequestContext
  ) async throws(Failure) -> AuthenticationFlow.New {
    if purpose != .register { try context.requireOpen(.emailCode) }
    try EmailAddress.check(email, context)
    let (address, account) = try await AccountMail.prepare(to: email, context)
    let verified = account.flatMap { $0.isVerified ? $0 : nil }
    let flow = AuthenticationFlow.New(purpose, verified?.email ?? email, address, digits: digits)
    let isClosed = account == nil && context.app.accountSettings.signUp == .closed
    try await context.transaction { transaction async throws(Failure) in
      flow.write(in: transaction)
      if isClosed {
        // No mail is sent, and the response takes as long.
        try AccountMail.request(nil, email, address, in: transaction)
      } else {
        AccountMail.sendCode(of: flow, to: account, in: verified?.language, in: transaction)
      }
    }
    return flow
  }

  /// Signs in, or signs up, by a mailed code.
  ///
  /// The code verifies the address. So an account that was not verified before is taken over.
  /// - Throws: `.invalidCode`, `.wrongCredentials` for a blocked user, `.signUpClosed`,
  ///   `.emailTaken` while the address is reserved for the user who had it before,
  ///   `.additionalFactorRequired`, `.loginMethodDisabled`, `.deviceUnknown`, `.deviceFull`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func signIn(
    _ code: String, _ flow: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let flow = try await AuthenticationFlow(code, flow, for: [.signIn, .register], context)
    if flow.purpose == .signIn { try context.requireOpen(.emailCode) }
    return try await complete(flow, as: style, context)
  }

  /// Signs in, or signs up, by the code that `start` has mailed last to an address.
  ///
  /// - Throws: as the sign-in with a flow; `.tooManyAttempts`.
  @EventLoop package static func signIn(
    _ code: String, at email: String, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try context.requireOpen(.emailCode)
    let address = try await EmailAddress(email, context)
    // Without the limit, a stranger could use up the tries of each new code.
    let limiter = FailureLimiter(.login, on: address.key, context)
    let flow = try await limiter.attempt { () async throws(Failure) in
      guard let flow = try await AuthenticationFlow.newest(of: address, context) else {
        throw .invalidCode
      }
      return try await AuthenticationFlow(code, flow, for: [.passwordless], context)
    }
    try await limiter.takeBack()
    return try await complete(flow, as: style, context)
  }

  /// Signs in, or signs up, by a code that the client's network asked for.
  ///
  /// - Parameters:
  ///   - code: the code.
  ///   - guest: an anonymous user who gets the address, and keeps id and data. If that is
  ///     impossible, a new user gets it.
  ///   - style: the protocol of the session.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: as the sign-in with a flow; `.tooManyAttempts`.
  @EventLoop package static func signIn(
    _ code: String, linkingTo guest: Principal?, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try context.requireOpen(.emailCode)
    let flow = try await AuthenticationFlow.ofNetwork(code, for: .networkSignIn, context)
    return try await complete(flow, linkingTo: guest, as: style, context)
  }

  @EventLoop private static func complete(
    _ flow: AuthenticationFlow, linkingTo guest: Principal? = nil, as style: SessionStyle,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    while true {
      if let user = try await Accounts.latestHolder(of: flow.address, context) {
        let entry = CodeEntry(flow: flow, user: user, context: context)
        return try await SignIn.complete(entry.credential, as: style, context, entry.write)
      }
      try context.requireOpenSignUp()
      do throws(Failure) {
        let linked = try await Guests.link(guest, context) { user async throws(Failure) in
          let account = NewAccount(by: flow, of: user, context)
          return try await SignIn.complete(account.credential, as: style, context, account.link)
        }
        if let linked { return linked }
        let account = NewAccount(by: flow, context)
        return try await SignIn.complete(account.credential, as: style, context, account.create)
      } catch .emailTaken {
        // Another request has made the user at the same moment, or the address is reserved.
        guard try await Accounts.latestHolder(of: flow.address, context) != nil else {
          throw .emailTaken
        }
      }
    }
  }
}

/// A right code, and the user who has its address.
@EventLoop private struct CodeEntry {
  let flow: AuthenticationFlow
  let user: UserID
  let context: RequestContext

  var credential: VerifiedCredential {
    VerifiedCredential(of: user, .email(key: flow.address.key))
  }

  /// Uses the code up, and takes over an account whose address was not verified.
  ///
  /// The transaction of the sign-in has locked the user.
  /// - Returns: a function that waits.
  /// - Throws: `.invalidCode` if the user has another address by now.
  func write(in transaction: Transaction) async throws(Failure) -> Completion {
    let account = try await Accounts.find(flow.address, of: user, in: transaction)
    guard let account else { throw .invalidCode }
    try await flow.use(in: transaction)
    if account.isTakenOverByMail {
      try await Takeover.run(of: user, flow.address, in: transaction)
      // The code of a registration comes with the password that the reader of the mail has chosen.
      if let hash = flow.hash {
        try await Users.store(hash, of: user, in: transaction)
      }
    }
    return RateLimits.sendForget(of: flow.address.key, user, in: transaction)
  }
}
