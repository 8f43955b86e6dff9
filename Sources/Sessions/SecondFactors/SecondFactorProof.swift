import RateLimiting
package import Runtime
import EventLoop
import JSON
import Postgres

extension Sessions {
  /// Verifies a second factor of the caller, and replaces the session by one that has passed it.
  ///
  /// A session that began while the app had no second factors needs it. How long ago the user has
  /// authenticated stays the same.
  /// - Parameters:
  ///   - code: a code of an authenticator, or a recovery code.
  ///   - user: the user.
  ///   - style: the style of the new session.
  ///   - context: the context of the request.
  /// - Returns: the new session.
  /// - Throws: `.invalidCode`, `.mfaDisabled`, `.tooManyAttempts`, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func passSecondFactor(
    _ code: String, of user: UserID, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try SecondFactors.requireOffered(context)
    try await context.requireSession(of: user)
    try await RateLimits.countChange(of: user, context)
    let limiter = try await SecondFactors.limiter(of: code, by: user, context)
    try await limiter.count()
    do throws(Failure) {
      let live = try await limiter.complete { () async throws(Failure) in
        try await context.transaction { transaction async throws(Failure) in
          try await Sessions.lockUser(user, in: transaction)
          try await SecondFactors.use(code, of: user, in: transaction)
          let live = try await renew(
            user, by: nil, secondFactor: SecondFactors.methods, as: style, "reauthenticate",
            in: transaction
          )
          try await limiter.succeed(in: transaction)
          let detail: JSON = [
            "provider": "second-factor", "next_session_id": .string(live.session.text),
          ]
          Event("reauthenticate", of: user, detail: detail)
            .record(in: transaction)
          return live
        }
      }
      return OpenSession(live, of: user, as: style, context)
    } catch .invalidCode {
      try await SecondFactors.recordFailure(of: user, context)
      throw .invalidCode
    }
  }
}
