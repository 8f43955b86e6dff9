package import Runtime
package import Sessions
import EventLoop
import JSON
import Postgres

/// Users, and their creation.
package enum Users {
  /// Creates a guest, a user without credentials, and logs it in.
  ///
  /// - Throws: `.loginMethodDisabled`, `.signUpClosed`, `.deviceUnknown`, `.deviceFull`,
  ///   `.tooManyAttempts`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func signInAnonymously(
    as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    try context.requireOpen(.anonymous)
    try context.requireOpenSignUp()
    let user = UserID()
    let allowances = try await RequestLimiter.anonymous(context)
    do throws(Failure) {
      return try await SignIn.complete(
        VerifiedCredential(of: user, .anonymous, isOfNewUser: true),
        as: style,
        context
      ) { transaction async throws(Failure) in
        let made = try await send(
          user,
          "anonymous",
          user.text,
          isAnonymous: true,
          JSONObject(),
          nil,
          in: transaction,
          context
        )
        let spent = allowances.sendSpending(in: transaction)
        return { () async throws(Failure) in
          try await made()
          try await spent()
        }
      }
    } catch .tooManyAttempts {
      // Concurrent requests have used up the limit; this reports which limit.
      try await allowances.requireLeft()
      throw .tooManyAttempts(retryAfter: .seconds(1))
    }
  }

  /// Sends the statements that create a user with one identity: a provider and a subject.
  ///
  /// A guest has no subject. An address in the profile that another user has is omitted.
  /// - Returns: a function that waits, and throws `.identityTaken` if another user has the identity.
  @EventLoop static func send(
    _ user: UserID,
    _ provider: String,
    _ subject: String,
    isAnonymous: Bool,
    _ profile: JSONObject,
    _ address: EmailAddress?,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) -> Completion {
    let (app, identity) = (context.app.id, IdentityID())
    var email: String?
    if let key = address?.key {
      let taken = try await transaction.run(
        CredentialRowQueries.takeFreeAddress,
        app,
        key,
        user,
        identity,
        ServerTime()
      )
      if !taken.isEmpty { email = profile["email"]?.string }
    }
    let claimed =
      isAnonymous
      ? nil
      : transaction.send(CredentialRowQueries.claim, app, provider, subject, user, identity)
    let members = TextBytes(JSON.object(profile).serialized())
    _ = transaction.send(UsersQueries.create, user, app, isAnonymous, members, email)
    let made = transaction.send(
      CredentialRowQueries.addIdentity,
      user,
      identity,
      app,
      provider,
      subject
    )
    return { () async throws(Failure) in
      try await claimed?.rows(undone: .identityTaken)
      try await made.rows()
    }
  }
}

extension RequestContext {
  /// - Throws: `.loginMethodDisabled` if the app does not allow this login method.
  func requireOpen(_ way: LoginMethod) throws(Failure) {
    guard app.accountSettings.isOpen(way) else { throw .loginMethodDisabled(way) }
  }
}
