import EventLoop
import JSON
import Postgres

/// Users: how they come in, and how they go.
package enum Users {
  /// Makes a guest, a user without credentials, and signs it in.
  ///
  /// - Throws: `.wayInClosed`, `.signUpClosed`, `.deviceUnknown`, `.deviceFull`, `.tooManyAttempts`,
  ///   `.overloaded`, `.unavailable`.
  @EventLoop package static func signInAnonymously(
    as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.Grant {
    try context.requireOpen(.anonymous)
    try context.requireOpenSignUp()
    let user = UserID()
    let allowances = try await RequestGuard.anonymous(context)
    do throws(Failure) {
      return try await SignIn.complete(
        VerifiedCredential(of: user, .anonymous, isOfNewUser: true),
        as: style,
        context
      ) { transaction in
        let made = send(
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
          try await made.rows()
          try await spent()
        }
      }
    } catch .tooManyAttempts {
      // Others who came at the same moment have taken the last; this says so, and to whom.
      try await allowances.requireLeft()
      throw .tooManyAttempts(retryAfter: .seconds(1))
    }
  }

  /// Sends the statement that makes a user with one identity: what a provider knows by a subject.
  ///
  /// An address of the profile that another user has is left out.
  @EventLoop static func send(
    _ user: UserID,
    _ provider: String,
    _ subject: String,
    isAnonymous: Bool,
    _ profile: JSONObject,
    _ address: EmailAddress?,
    in transaction: Transaction,
    _ context: RequestContext
  ) -> Sent<NoRow> {
    transaction.send(
      UsersQueries.create,
      user,
      context.app.id,
      IdentityID(),
      provider,
      subject,
      isAnonymous,
      TextBytes(JSON.object(profile).serialized()),
      address?.key
    )
  }
}

extension RequestContext {
  /// - Throws: `.wayInClosed` when the app does not let users come that way.
  func requireOpen(_ way: WayIn) throws(Failure) {
    guard app.settings.isOpen(way) else { throw .wayInClosed(way.rawValue) }
  }
}
