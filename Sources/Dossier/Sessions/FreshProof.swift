import EventLoop
import JSON
package import Postgres

/// What a user shows, in a session that is live, to prove anew who it is.
package enum Evidence: Sendable {
  case password(String)
  /// A token of an issuer.
  case token(String)
  case apiKey(String)

  fileprivate var provider: String {
    switch self {
    case .password: "password"
    case .token: "jwt"
    case .apiKey: "api-key"
    }
  }
}

/// A fresh proof: who holds a stolen access token is not to decide by what a user logs in.
extension Sessions {
  /// Checks that the caller has logged in, or proved anew who it is, within the app's
  /// `reauthentication_minutes` and in this session.
  ///
  /// Asked of every route whose access says so. A user who has nothing to log in with is exempt: its
  /// session is all that it has. The session of an anonymous user stays exempt when there are API keys
  /// and nothing else, or whoever stole its token would make a key and lock the owner out with it.
  /// - Throws: `.reauthenticationRequired`, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func requireFreshProof(
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    let seconds = context.app.settings.number(.reauthenticationMinutes) * 60
    let rows = try await context.store.read(
      FreshProofQueries.isFresh,
      caller.user,
      caller.authority,
      seconds
    )
    guard let isFresh = rows.first else { throw caller.gone }
    guard isFresh else { throw .reauthenticationRequired(maxAge: seconds) }
  }

  /// Takes a fresh proof of the caller, verified as at a login.
  ///
  /// - Throws: `.wrongCredentials` also for what is another user's, `.wayInClosed`,
  ///   `.invalidExternalToken`, `.issuerUnavailable`, `.tooManyAttempts`, `.unauthenticated`,
  ///   `.overloaded`, `.unavailable`.
  @EventLoop package static func reauthenticate(
    _ caller: Caller,
    by evidence: Evidence,
    _ context: Context
  ) async throws(Failure) {
    try await context.requireSession(of: caller)
    let guarding: FailureGuard?
    do throws(Failure) {
      guarding = try await verify(evidence, of: caller, context)
    } catch .wrongCredentials {
      try await event("login_failure", evidence, caller).record(context)
      throw .wrongCredentials
    }
    let isLive = try await context.store.transaction { transaction async throws(DatabaseError) in
      let renewed = try await transaction.run(
        FreshProofQueries.renew,
        caller.user,
        caller.authority
      )
      guard !renewed.isEmpty else { return false }
      try await guarding?.succeed(in: transaction)
      try await event("reauthenticate", evidence, caller).record(in: transaction, context)
      return true
    }
    guard isLive else { throw caller.gone }
  }

  /// - Returns: what counted the attempt, if anything did.
  @EventLoop private static func verify(
    _ evidence: Evidence,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> FailureGuard? {
    let user: UserID?
    switch evidence {
    case .password(let password):
      try context.requireOpen(.password)
      return try await Users.verify(password, of: caller, context)
    case .token(let token): user = try await TokenLogin.holder(of: token, context)
    case .apiKey(let key): user = try await APIKeys.owner(of: key, context)
    }
    guard user == caller.user else { throw .wrongCredentials }
    return nil
  }

  private static func event(
    _ action: String,
    _ evidence: Evidence,
    _ caller: Caller
  ) -> AuditEvent {
    AuditEvent(
      action,
      of: caller.user,
      session: caller.session,
      device: caller.device,
      detail: ["provider": .string(evidence.provider)]
    )
  }
}

package enum FreshProofQueries {
  /// One row when the session counts.
  static let isFresh = Statement<Bool, UserID, Authority, Int>(
    "fresh_proof.is_fresh",
    """
    select exists (
        select from sessions s where s.user_id = c.user_id and s.session_id = $2
          and (s.authenticated_at > now() - $3::bigint * interval '1 second'
            or s.provider = 'anonymous' and not exists (
              select from identities i
              where i.user_id = c.user_id and i.provider not in ('anonymous', 'api-key'))))
      or not exists (
        select from identities i where i.user_id = c.user_id and i.provider <> 'anonymous')
    from caller($1, $2) c
    """
  )

  /// One row when the session counts.
  static let renew = Statement<String, UserID, Authority>(
    "fresh_proof.renew",
    """
    update sessions s set authenticated_at = now()
    from caller($1, $2) c where s.user_id = c.user_id and s.session_id = $2
    returning s.session_id
    """
  )

  package static let all: [any PreparedStatement] = [isFresh, renew]
}
