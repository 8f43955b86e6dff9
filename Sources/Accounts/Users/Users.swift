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
    as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    try context.requireOpen(.anonymous)
    try context.requireOpenSignUp()
    let limit = try await RequestLimiter.anonymous(context)
    let user = NewSubject(
      credential: VerifiedCredential(of: UserID(), .anonymous, isOfNewUser: true), limit: limit,
      context: context
    )
    do throws(Failure) {
      return try await SignIn.complete(user.credential, as: style, context, user.write)
    } catch .tooManyAttempts {
      // Concurrent requests have used up the limit; this reports which limit.
      try await limit.requireLeft()
      throw .tooManyAttempts(retryAfter: .seconds(1))
    }
  }
}

/// A user who is about to be made without an address to sign in by: a guest, or an issuer's subject.
@EventLoop struct NewSubject {
  let credential: VerifiedCredential
  var profile = JSONObject()
  /// The address of the profile; the database omits it if another user has it.
  var address: EmailAddress?
  /// The limit that the new user counts against; nil for none.
  var limit: RateLimitSet?
  let context: RequestContext

  /// Sends the statements that make the user with one identity.
  ///
  /// A guest has no subject.
  /// - Returns: a function that waits, and throws `.identityTaken` if another user has the identity.
  func write(in transaction: Transaction) async throws(Failure) -> Completion {
    let (user, app, identity) = (credential.user, context.app.id, IdentityID())
    let (provider, subject) = (credential.provider, credential.evidence)
    var email: String?
    if let address {
      let taken = try await transaction.run(
        CredentialRowQueries.takeFreeAddress, app, address.key, user, identity, ServerTime()
      )
      if !taken.isEmpty { email = profile["email"]?.string }
    }
    let claimed = subject.map {
      transaction.send(CredentialRowQueries.claim, app, provider, $0, user, identity)
    }
    let members = TextBytes(profile.serialized())
    _ = transaction.send(UsersQueries.create, user, app, subject == nil, members, email)
    let made = transaction.send(
      CredentialRowQueries.addIdentity, user, identity, app, provider, subject ?? user.text
    )
    let counted = limit?.sendSpending(in: transaction)
    return { () async throws(Failure) in
      try await claimed?.rows(undone: .identityTaken)
      try await made.rows()
      try await counted?()
    }
  }
}

extension RequestContext {
  /// - Throws: `.loginMethodDisabled` if the app does not allow this login method.
  package func requireOpen(_ way: LoginMethod) throws(Failure) {
    guard app.accountSettings.isOpen(way) else { throw .loginMethodDisabled(way) }
  }
}
