import Delivery
package import Runtime
package import Sessions
import EventLoop
import Postgres

extension Emails {
  /// Mails a token that verifies an address.
  ///
  /// The response is the same, and as fast, for an address of no user.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func requestVerification(
    of email: String, _ context: RequestContext
  ) async throws(Failure) {
    try await AccountMail.request(.verify, email, context)
  }

  /// Verifies an address by a mailed token and a session of its user, or the password.
  ///
  /// The token alone changes nothing: the reader of the mail may not have made the account. A
  /// verification revokes nothing.
  /// - Parameters:
  ///   - text: the token.
  ///   - password: the password of the user; nil without one.
  ///   - style: the style of the session that the password creates.
  ///   - context: the context of the request.
  /// - Returns: the tokens of a new session; nil if the session of the request has verified it.
  /// - Throws: `.invalidMailToken`, `.signInToVerify` (the token stays valid), `.wrongCredentials`,
  ///   `.additionalFactorRequired`, `.tooManyAttempts`, `.loginMethodDisabled`, `.sessionEnded`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func verify(
    _ text: String, password: String?, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet? {
    let token = try await PresentedEmailToken(text, for: .verify, context)
    if let user = context.principal.user, user == token.user {
      try await context.transaction { transaction async throws(Failure) in
        try await Sessions.lockUser(user, in: transaction)
        try await verify(token, in: transaction)
      }
      return nil
    }
    guard let password else { throw .signInToVerify }
    try context.requireOpen(.password)
    // Counted by the user and not by the address, for which strangers can cause failures.
    let limiter = Users.passwordLimiter(of: token.user, context)
    let isRight = try await limiter.attempt { () async throws(Failure) in
      let isRight = try await context.passwords.verify(
        password, against: token.subject.hash, for: context.owner
      )
      if !isRight { try await Users.recordFailure(of: token.user, context) }
      return isRight
    }
    guard isRight, let hash = token.subject.hash else { throw .wrongCredentials }
    return try await SignIn.complete(
      VerifiedCredential(of: token.user, .password(hash: hash)), countedBy: limiter, as: style,
      context
    ) { transaction async throws(Failure) in
      try await verify(token, in: transaction)
      return { () async throws(Failure) in }
    }
  }

  /// Verifies an address by a mailed token alone, for a protocol that sends nothing else.
  ///
  /// The address counts as verified by mail only: the next reset or code takes the account over.
  /// - Parameters:
  ///   - text: the token.
  ///   - knowsPassword: whether the client has just shown the password of the user, so that the
  ///     address counts as verified by its user.
  ///   - context: the context of the request.
  /// - Throws: `.invalidMailToken`, `.databaseUnavailable`.
  @EventLoop package static func verifyByReader(
    _ text: String, knowsPassword: Bool = false, _ context: RequestContext
  ) async throws(Failure) {
    let token = try await PresentedEmailToken(text, for: .verify, context)
    try await context.transaction { transaction async throws(Failure) in
      try await verify(token, byReader: !knowsPassword, in: transaction)
    }
  }

  @EventLoop private static func verify(
    _ token: PresentedEmailToken, byReader isReader: Bool = false, in transaction: Transaction
  ) async throws(Failure) {
    let account = try await token.useForAccount(in: transaction)
    guard account.isTakenOverByMail else { return }
    try await Accounts.verify(token.address, of: token.user, byReader: isReader, in: transaction)
    try await RateLimits.sendForget(of: token.address.key, token.user, in: transaction)()
  }
}
