import IdentitySubjects
import RateLimiting
package import Tenancy
package import Runtime
package import Sessions
import EventLoop
import Glibc
import JSON
import Postgres

/// A credential that a user sends, in a live session, to authenticate again.
package enum ReauthenticationCredential {
  case password(String)
  /// A mailed code, and its flow.
  case code(String, flow: String)
  /// A token of an issuer, and the nonce for which the client has asked for it.
  case token(String, nonce: String?)
  case apiKey(String)
  /// An identity whose owner has just authenticated at its issuer, as the caller has checked.
  case identity(ExternalTokens.Identity)
  case passkey(ShownPasskey)

  fileprivate var provider: String {
    switch self {
    case .password: "password"
    case .code: "email"
    case .token, .identity: "jwt"
    case .apiKey: "api-key"
    case .passkey: "passkey"
    }
  }
}

/// A fresh authentication, so that a stolen access token alone cannot change credentials.
extension Sessions {
  /// Checks that the caller has authenticated in this session within `reauthentication_minutes`.
  ///
  /// A user without credentials is exempt, as it has only its session. A guest with API keys and
  /// nothing else stays exempt: otherwise a thief of its token could make a key, and lock the owner
  /// out. After the first link, the guest's session is never fresh: an attacker may have copied its
  /// tokens before. The session of an API key is never fresh if its user has another credential. A
  /// thief of a token of App Services can make a key, which must not take over the account.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - exempt: the style of a wire whose clients cannot reauthenticate; nil for none. A session of
  ///     this style proves the user as long as it lives. So a copy of its token is enough for any
  ///     change that the wire offers, and the guide of the wire must say so.
  ///   - context: the context of the request.
  /// - Throws: `.reauthenticationRequired`, `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func requireFreshProof(
    of user: UserID, orSessionOf exempt: SessionStyle? = nil, _ context: RequestContext
  ) async throws(Failure) {
    let authentication = try await authentication(of: user, orSessionOf: exempt, context)
    guard authentication.isRecent, authentication.meetsSecondFactor else {
      throw context.reauthenticationRequired
    }
  }

  /// How recently and how strongly a user has authenticated in a session.
  package struct Authentication {
    /// Whether the session has passed a second factor, or the user has none.
    package let meetsSecondFactor: Bool
    /// Whether the user has authenticated within `reauthentication_minutes`, or is exempt.
    package let isRecent: Bool
  }

  /// Returns how the caller has authenticated in this session.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func authentication(
    of user: UserID, orSessionOf exempt: SessionStyle? = nil, _ context: RequestContext
  ) async throws(Failure) -> Authentication {
    let settings = context.app.sessionSettings
    var batch = ReadBatch()
    let freshness = batch.add(
      FreshProofQueries.isFresh, user, context.principal, settings.proofLifetime, exempt?.name
    )
    let factor = batch.add(SecondFactorQueries.isMet, user, context.principal, settings.mfa != .off)
    let results = try await context.read(batch)
    guard let isRecent: Bool = try results.first(freshness),
      let meetsSecondFactor: Bool = try results.first(factor)
    else { throw context.gone }
    return Authentication(meetsSecondFactor: meetsSecondFactor, isRecent: isRecent)
  }

  /// Verifies a credential of the caller as at a sign-in, and replaces the session by a new one.
  ///
  /// A copy of the old session's tokens becomes useless. The new session has the scope of the old one,
  /// and the tokens of the given style.
  /// - Throws: `.wrongCredentials` also for another user's credential, `.invalidCode`, `.loginMethodDisabled`,
  ///   `.invalidExternalToken` also if it does not prove that its user has just signed in at the
  ///   issuer, `.issuerUnavailable`,
  ///   `.tooManyAttempts`, `.sessionEnded`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func reauthenticate(
    _ user: UserID, by evidence: ReauthenticationCredential, as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try await context.requireSession(of: user)
    try await RateLimits.countChange(of: user, context)
    // One limit for all kinds of credentials: the access token may be stolen.
    let limiter = Users.passwordLimiter(of: user, context)
    let verified: VerifiedCredential
    let write: SignIn.Writes
    do throws(Failure) {
      (verified, write) = try await limiter.attempt { () async throws(Failure) in
        try await verify(evidence, of: user, context)
      }
    } catch {
      switch error {
      case .wrongCredentials, .invalidExternalToken, .invalidCode:
        try await event("login_failure", evidence, user).record(context)
      default: break
      }
      throw error
    }
    let live = try await limiter.complete { () async throws(Failure) in
      try await context.transaction { transaction async throws(Failure) in
        try await Sessions.lockUser(user, in: transaction)
        try await write(transaction)()
        let live = try await renew(
          user, by: verified, secondFactor: verified.secondFactor, as: style, "reauthenticate",
          in: transaction)
        try await limiter.succeed(in: transaction)
        event("reauthenticate", evidence, user, live.session).record(in: transaction)
        return live
      }
    }
    return OpenSession(live, of: user, as: style, context)
  }

  @EventLoop private static func verify(
    _ evidence: ReauthenticationCredential, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> (VerifiedCredential, SignIn.Writes) {
    switch evidence {
    case .password(let password):
      try context.requireOpen(.password)
      let hash = try await Users.verify(password, of: user, context)
      return (VerifiedCredential(of: user, .password(hash: hash)), SignIn.noWrites)
    case .code(let code, let flow):
      try context.requireOpen(.emailCode)
      let flow = try await AuthenticationFlow(code, flow, for: [.signIn], context)
      // A code to an address that is not verified takes the account over; that is a sign-in.
      guard let account = try await Accounts.find(flow.address, context),
        account.user == user, !account.isTakenOverByMail
      else { throw .invalidCode }
      let credential = VerifiedCredential(of: user, .email(key: flow.address.key))
      return (
        credential,
        { transaction async throws(Failure) in
          try await flow.use(in: transaction)
          return { () async throws(Failure) in }
        }
      )
    case .token(let token, let nonce):
      try context.requireOpen(.jwt)
      let external = try await context.external.identity(of: token, for: nonce, context)
      let age = context.app.sessionSettings.proofLifetime.wholeSeconds
      // A redirect without the user (`prompt=none`) gets a token with a new `iat`.
      guard let authenticatedAt = external.authenticatedAt, authenticatedAt > time(nil) - age else {
        throw .invalidExternalToken(
          rule:
            "its auth_time is missing, or more than \(age / 60) minutes ago; send max_age=0 to its "
            + "issuer, or sign in again"
        )
      }
      let credential = try await credential(of: external, of: user, at: authenticatedAt, context)
      return (credential, SignIn.noWrites)
    case .identity(let external):
      let time = external.authenticatedAt
      let credential = try await credential(of: external, of: user, at: time, context)
      return (credential, SignIn.noWrites)
    case .passkey(let passkey):
      guard passkey.credential.user == user else { throw .wrongCredentials }
      return (passkey.credential, passkey.write)
    case .apiKey(let text):
      let key = try await APIKeys.use(text, context)
      guard key.owner == user else { throw .wrongCredentials }
      return (VerifiedCredential(of: user, .apiKey(key.id)), SignIn.noWrites)
    }
  }

  /// Returns the credential of a user's own identity.
  @EventLoop private static func credential(
    of external: ExternalTokens.Identity, of user: UserID, at authenticatedAt: Int?,
    _ context: RequestContext
  ) async throws(Failure) -> VerifiedCredential {
    let (app, provider) = (context.app.id, external.provider)
    let holder = try await context.first(SubjectQueries.holder, app, provider, external.subject)
    guard holder == user else { throw .wrongCredentials }
    var credential = external.credential(of: user)
    credential.authenticatedAt = authenticatedAt
    return credential
  }

  private static func event(
    _ action: String, _ evidence: ReauthenticationCredential, _ user: UserID,
    _ next: SessionID? = nil
  ) -> Event {
    var detail = JSONObject()
    detail["provider"] = .string(evidence.provider)
    detail["next_session_id"] = next.map { .string($0.text) }
    return Event(action, of: user, detail: .object(detail))
  }
}

package enum FreshProofQueries {
  /// Returns one row if the session is live.
  ///
  /// - Parameter 4: the style whose sessions are exempt; null for none.
  static let isFresh = Statement<Bool, UserID, Principal, Duration, String?>(
    "fresh_proof.is_fresh",
    """
    select exists (
        select 1 from sessions s where s.user_id = $1 and s.session_id = $2
          and (s.style = $4
            or (s.provider = 'anonymous' or s.authenticated_at > now() - $3::interval)
              and (s.provider not in ('anonymous', 'api-key') or not exists (
                select 1 from identities i
                where i.user_id = $1 and i.provider not in ('anonymous', 'api-key')))))
      or not exists (
        select 1 from identities i where i.user_id = $1 and i.provider <> 'anonymous')
    from users c where \(.isAuthorized)
    """)
}
