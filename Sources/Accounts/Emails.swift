import Delivery
package import Runtime
package import Sessions
import EventLoop
import Postgres

/// Verifies, changes and restores addresses, and resets passwords by mail.
package enum Emails {
  /// Mails a token that lets its reader choose a new password.
  ///
  /// The response is the same, and as fast, for an address of no user.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func requestReset(
    of email: String, _ context: RequestContext
  ) async throws(Failure) {
    try await AccountMail.request(.reset, email, context)
  }

  /// Mails a code that sets a new password, from the network that asked for it.
  ///
  /// The response is the same, and as fast, for an address of no user.
  /// - Throws: as `requestReset`; `.invalid`.
  @EventLoop package static func requestResetCode(
    of email: String, digits: Int, _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try EmailAddress.check(email, context)
    try await RequestLimiter.resetCode(context)
    let (address, _) = try await AccountMail.prepare(to: email, context)
    let flow = AuthenticationFlow.New(.networkReset, email, address, digits: digits)
    try await context.transaction { transaction async throws(Failure) in
      flow.write(in: transaction)
      try AccountMail.request(.reset, email, address, code: flow.shownCode, in: transaction)
    }
  }

  /// Sets a new password by such a code, as `reset` does, without a sign-in.
  ///
  /// - Throws: as `reset`; `.invalidCode`, `.tooManyAttempts`.
  @EventLoop package static func reset(
    byCode code: String, password: String, _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try await Credentials.check(password, of: nil, context)
    let flow = try await AuthenticationFlow.ofNetwork(code, for: .networkReset, context)
    try await Credentials.check(password, of: flow.email, context)
    let hash = try await context.passwords.hash(password, for: context.owner)
    guard let user = try await Accounts.latestHolder(of: flow.address, context) else {
      throw .invalidCode
    }
    try await set(hash, of: user, at: flow.address, context) { transaction async throws(Failure) in
      _ = transaction.send(SessionsQueries.lockUser, user)
      let account = try await Accounts.find(flow.address, of: user, in: transaction)
      guard let account, !account.isBlocked else { throw .invalidCode }
      try await flow.use(in: transaction)
      return account
    }
  }

  /// Sets a new password by a mailed token, and signs in.
  ///
  /// It ends the sessions, API keys and places on devices of the user, and forgets the failed logins
  /// of the address. An account that was not verified before is taken over.
  /// - Returns: the tokens.
  /// - Throws: `.invalid`, `.invalidMailToken`, `.wrongCredentials` if another request replaced the
  ///   new password before the sign-in, `.additionalFactorRequired` (the password is set),
  ///   `.deviceUnknown` and `.deviceFull` (the token stays valid), `.loginMethodDisabled`,
  ///   `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func reset(
    _ text: String, password: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    let credential = try await setPassword(text, password, context)
    return try await SignIn.complete(credential, as: style, context)
  }

  /// Sets a new password by a mailed token, as `reset` does, without a sign-in.
  ///
  /// - Throws: as `reset`.
  @EventLoop package static func resetOnly(
    _ text: String, password: String, _ context: RequestContext
  ) async throws(Failure) {
    _ = try await setPassword(text, password, context)
  }

  @EventLoop private static func setPassword(
    _ text: String, _ password: String, _ context: RequestContext
  ) async throws(Failure) -> VerifiedCredential {
    let (token, hash) = try await choose(password, by: text, for: .reset, context)
    let (user, verifies) = (token.user, token.subject.verifies)
    try await set(hash, of: user, at: token.address, verifies: verifies, context) {
      transaction async throws(Failure) in try await token.useForAccount(in: transaction)
    }
    return VerifiedCredential(of: token.user, .password(hash: hash))
  }

  /// Sets the password of a user.
  ///
  /// - Parameters:
  ///   - hash: the hash of the password.
  ///   - user: the user.
  ///   - address: the address of the mail.
  ///   - verifies: whether the mailed token or code proves the address.
  ///   - context: the context of the request.
  ///   - use: uses the token or code up, and returns the account.
  /// - Throws: errors of `use`, `.invalidMailToken`, `.databaseUnavailable`.
  @EventLoop private static func set(
    _ hash: String, of user: UserID, at address: EmailAddress, verifies: Bool = true,
    _ context: RequestContext, _ use: @EventLoop (Transaction) async throws(Failure) -> Account
  ) async throws(Failure) {
    _ = try await Devices.admit(user, context)
    try await context.transaction { transaction async throws(Failure) in
      let account = try await use(transaction)
      if account.isTakenOverByMail, verifies {
        try await Takeover.run(of: user, address, in: transaction)
      } else {
        if !account.isCredential {
          guard verifies else { throw .invalidMailToken }
          // The password needs an identity with the address.
          try await Accounts.markVerified(address, of: user, in: transaction)
        }
        try await Users.revoke(of: user, "password_reset", in: transaction)
      }
      try await Users.store(hash, of: user, in: transaction)
      try await SecurityNotice.passwordReset.record(of: user, in: transaction)
      try await RateLimits.sendForget(of: address.key, user, in: transaction)()
    }
  }

  /// Checks and hashes a new password that comes with a mailed token, which stays valid.
  ///
  /// - Throws: `.invalid`, `.invalidMailToken`, `.loginMethodDisabled`, `.overloaded`,
  ///   `.databaseUnavailable`.
  @EventLoop static func choose(
    _ password: String, by text: String, for purpose: EmailToken.Purpose, _ context: RequestContext
  ) async throws(Failure) -> (PresentedEmailToken, hash: String) {
    // An address can be restored in an app without passwords, too.
    if purpose == .reset { try context.requireOpen(.password) }
    // Also before the token is read: without a token the response to a password is the same.
    try await Credentials.check(password, of: nil, context)
    let token = try await PresentedEmailToken(text, for: purpose, context)
    try await Credentials.check(password, of: token.subject.email, context)
    return (token, try await context.passwords.hash(password, for: context.owner))
  }
}
