package import EventLoop
import IdentitySubjects
import JSON
package import Postgres
package import Runtime
package import Tenancy

/// Sessions: a sign-in creates them, refreshes extend them, and a sign-out ends them.
@EventLoop package enum Sessions {
  /// The tokens of a session, as clients of this server get them.
  package struct TokenSet: Sendable {
    package let accessToken: String
    package let refreshToken: String
    /// The lifetime of the access token.
    package let lifetime: Duration
    package let user: UserID
    package let device: DeviceID
  }

  /// How long a refresh token may be sent again after its exchange.
  ///
  /// Two tabs, or a client that lost the response, get the same successor.
  package nonisolated static let grace = Duration.seconds(30)

  /// A session may refresh 100 times at once, and then once every six seconds.
  private nonisolated static let refreshPause = Duration.seconds(6)
  private nonisolated static let refreshLimit = refreshPause * 99

  /// Exchanges a refresh token for its successor.
  ///
  /// - Throws: `.invalidRefreshToken`, `.tooManyAttempts`, `.databaseUnavailable`.
  package static func refresh(
    _ text: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let (user, live) = try await rotate(
      text, of: style.name, client: nil, for: context.app.sessionSettings.sessionLifetime, context
    )
    return OpenSession(live, of: user, as: style, context)
  }

  /// Replaces a refresh token by its successor.
  ///
  /// Each wire and client refreshes only its own tokens. The exchange of the current token may be
  /// repeated within `grace`, with the same result. If a client sends an older token, that token or
  /// its successor was stolen, and the session ends.
  /// - Parameters:
  ///   - text: the token.
  ///   - style: the name of the style of its session.
  ///   - client: the client of OpenID Connect; nil for other wires.
  ///   - lifetime: how long the session lasts from now on.
  ///   - context: the context of the request.
  /// - Returns: the user, and the session with its new generation.
  /// - Throws: `.invalidRefreshToken`, `.tooManyAttempts` for one session, `.databaseUnavailable`.
  package static func rotate(
    _ text: String, of style: String, client: String?, for lifetime: Duration,
    _ context: RequestContext
  ) async throws(Failure) -> (user: UserID, live: LiveSession) {
    guard let token = Credential(.refreshToken, text, context.keys.master) else {
      throw .invalidRefreshToken
    }
    let user = token.owner(as: UserID.self)
    let session = token.part(as: SessionID.self)
    let rotated = try await context.write(
      SessionsQueries.rotate, user, session, context.app.id, BinaryBytes(token.salt), token.number,
      lifetime, context.app.sessionSettings.longestSession, style, client,
      context.app.sessionSettings.mfa == .required, refreshPause, refreshLimit
    )
    if let live = rotated.first { return (user, live) }
    // Another rotation may have just committed.
    let superseded = try await context.read(
      SessionsQueries.superseded,
      user,
      session,
      context.app.id,
      BinaryBytes(token.salt),
      token.number,
      grace,
      style,
      client,
      // This looks later than `rotate`: a second less still shows a refusal by the limit.
      refreshLimit - .seconds(1), on: .exclusive
    )
    guard let found = superseded.first else { throw .invalidRefreshToken }
    if found.isRepeated { return (user, found.live) }
    if token.number == found.live.generation, found.wait > 0 {
      throw .tooManyAttempts(retryAfter: .seconds(found.wait))
    }
    // A newer token than the session knows was issued before the database was restored.
    if token.number < found.live.generation {
      try await end(session, of: user, "refresh_reuse", context)
    }
    throw .invalidRefreshToken
  }

  // MARK: The user's view

  /// Returns the caller's live sessions, the newest first.
  ///
  /// `count` is from 1 to `PageLimit.most`. `cursor` is the `next` of the previous page; nil for the
  /// first page.
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func page(
    of user: UserID, before cursor: SessionID? = nil, count: Int = PageLimit.most,
    _ context: RequestContext
  ) async throws(Failure) -> Page<SessionInfo> {
    let found = try await context.list(SessionsQueries.page, user, context.principal, cursor, count)
    guard let found else { throw context.gone }
    return Page(found, of: count)
  }

  /// Ends one of the caller's sessions, or all others if `session` is nil.
  ///
  /// - Throws: `.notFound` if the user has no such session, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  package static func end(
    _ session: SessionID?, by user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let which = session.map(Ending.one) ?? .others(than: context.principal.session)
      let ended = try await end(which, of: user, "ended", in: transaction)
      if session != nil, ended.isEmpty { throw .notFound }
    }
  }

  /// Locks a user, so that no other transaction changes its credentials, and the device of the session.
  ///
  /// Every transaction locks the user, then the device, then sessions.
  /// - Throws: `.sessionEnded` if the session of the request is not live once the lock is held.
  ///   The transaction that held the lock before may have ended it, as a reset of the password
  ///   does.
  package static func lockUser(_ user: UserID, in transaction: Transaction) async throws(Failure) {
    _ = transaction.send(SessionsQueries.lockUser, user)
    if let device = transaction.principal.device {
      _ = transaction.send(DevicesQueries.lock, device)
    }
    try await transaction.requireSession(of: user)
  }
}

/// A session that a sign-in, a refresh or a switch has opened or renewed.
///
/// A wire makes its own tokens of it. Pages need none: the browser has the secret of the device.
@EventLoop package struct OpenSession {
  package let user: UserID
  private let live: LiveSession
  private let style: SessionStyle
  private let master: MasterKey

  /// The new secret of the device; nil if the old one stays valid.
  package var deviceSecret: String? { live.deviceSecret?.text(master) }

  /// From here on, the request acts as the user of the session.
  package init(
    _ live: LiveSession, of user: UserID, as style: SessionStyle, _ context: RequestContext
  ) {
    (self.user, self.live, self.style) = (user, live, style)
    master = context.keys.master
    context.principal = Principal(
      user, live.session, live.device, in: context.app.id, scopes: Scopes(live.scope)
    )
  }

  /// Returns a secret of the session, which its style looks up by its id and the stored salt.
  package func credential(_ kind: Credential.Kind) -> String {
    Credential(kind, of: user, part: live.session, salt: live.salt).text(master)
  }

  /// Returns the tokens of the session, which the request acts in.
  ///
  /// - Throws: `.overloaded`, `.databaseUnavailable`, and errors of the claims of the style.
  package func tokens(_ context: RequestContext) async throws(Failure) -> Sessions.TokenSet {
    Sessions.TokenSet(
      accessToken: try await Sessions.accessToken(as: style, context),
      refreshToken: Sessions.signedRefreshToken(as: style, context)
        ?? Credential(
          .refreshToken, of: user, part: live.session, number: live.generation, salt: live.salt
        ).text(master),
      lifetime: context.app.sessionSettings.accessTokenLifetime,
      user: user,
      device: live.device
    )
  }
}

/// Sessions of credentials that a client sends with each request.
///
/// A new session for each request would end the user's other sessions.
extension Sessions {
  /// Returns the principal of the newest live session of a credential; nil without one.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func standing(
    by credential: VerifiedCredential, as style: SessionStyle, _ context: RequestContext
  ) async throws(Failure) -> Principal? {
    try await context.read(
      StandingSessionQueries.find, credential.user, credential.provider, credential.apiKey,
      style.name, context.app.sessionSettings.mfa == .required, on: .exclusive
    ).first.map {
      Principal(credential.user, $0.session, $0.device, in: context.app.id, scopes: style.scopes)
    }
  }
}

/// A session and its device.
package struct StandingSession: RowDecodable {
  let session: SessionID
  let device: DeviceID

  package init(from row: Row) throws(DatabaseError) {
    session = try row.id(0)
    device = try row.id(1)
  }
}

package enum StandingSessionQueries {
  /// Returns the newest live session of a credential and a style.
  ///
  /// - Parameter 3: the key, if the credential is one.
  /// - Parameter 5: whether the session must have had a second factor, or need none.
  static let find = Statement<
    StandingSession, UserID, IdentityProvider, APIKeyID?, String, Bool
  >(
    "standing_sessions.find",
    """
    select s.session_id, s.device_id from sessions s join users u on u.user_id = $1
    where s.user_id = $1 and s.provider = $2 and s.key_id is not distinct from $3 and s.style = $4
      and s.ended_at is null and s.expires_at > now() and u.blocked_at is null
      and meets_mfa($5::boolean, s.amr, s.provider, u.anonymous)
    order by s.session_id desc limit 1
    """)
}

extension Sessions {
  /// Revokes API keys, passkeys and linked identities, and records that.
  ///
  /// The caller also ends sessions, which removes the user from devices.
  /// - Throws: `.databaseUnavailable`.
  package static func revokeCredentials(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let context = transaction.context
    let identities = transaction.send(CredentialRevocationQueries.removeIdentities, user)
    _ = transaction.send(CredentialRevocationQueries.removeKeys, user)
    let actor = context.principal
    let removed = try await identities.rows()
    let subjects = removed.compactMap { Subject(ofIdentityAt: $0.provider, $0.name) }
    Subjects.release(subjects, of: user, in: transaction)
    for identity in removed where identity.provider != .anonymous {
      let place = EventPlace(session: nil, device: nil)
      let detail = identity.provider.eventDetail(in: transaction.app)
      Event("unlink", of: user, at: place, detail: .object(detail))
        .record(in: transaction, by: actor)
    }
  }
}

package enum CredentialRevocationQueries {
  /// Deletes and returns the identities without an address, which are all that have tokens.
  static let removeIdentities = Statement<Subject, UserID>(
    "credential_revocations.remove_identities",
    """
    with tokens as (update identity_tokens set is_due = true where user_id = $1)
    delete from identities where user_id = $1 and provider not in ('password', 'email')
    returning provider, subject
    """)

  static let removeKeys = Statement<NoRow, UserID>(
    "credential_revocations.remove_keys",
    """
    with keys as (delete from api_keys where user_id = $1),
      passkeys as (delete from passkeys where user_id = $1)
    update users set version = version + 1, updated_at = now() where user_id = $1
    """)
}

/// How the caller's session began, and the name of its style.
package struct CallerSession: RowDecodable {
  package let provider: IdentityProvider
  package let style: String
  /// Whether it has passed a second factor, or needs none.
  package let meetsSecondFactor: Bool

  package init(from row: Row) throws(DatabaseError) {
    provider = IdentityProvider(try row.text(0))
    style = try row.text(1)
    meetsSecondFactor = try row.bool(2)
  }
}

extension Sessions {
  /// Returns the caller's session.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func ofCaller(
    _ user: UserID, _ context: RequestContext
  ) async throws(Failure) -> CallerSession {
    let (caller, isRequired) = (context.principal, context.app.sessionSettings.mfa == .required)
    return try await context.read(SessionsQueries.ofCaller, user, caller, isRequired).first
      .orGone(context)
  }

  /// Returns the caller's session as a transaction sees it.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  package static func ofCaller(
    _ user: UserID, in transaction: Transaction
  ) async throws(Failure) -> CallerSession {
    let isRequired = transaction.app.sessionSettings.mfa == .required
    let caller = transaction.principal
    return try await transaction.run(SessionsQueries.ofCaller, user, caller, isRequired).first
      .orGone(transaction.context)
  }

  /// Replaces the caller's session by a new one.
  ///
  /// The transaction has locked the user.
  /// - Parameters:
  ///   - user: the user.
  ///   - credential: what the user has shown; nil if the new session keeps that of the old one.
  ///   - methods: the methods of a second factor that was verified; empty without one.
  ///   - style: the style of the tokens.
  ///   - reason: why the old session ends.
  ///   - transaction: the transaction.
  /// - Returns: the new session.
  /// - Throws: `.wrongCredentials` if the credential is not valid any more, `.sessionEnded` if the
  ///   session has ended.
  package static func renew(
    _ user: UserID, by credential: VerifiedCredential?, secondFactor methods: String = "",
    as style: SessionStyle, _ reason: String, in transaction: Transaction
  ) async throws(Failure) -> LiveSession {
    let context = transaction.context
    guard let session = context.principal.session, let device = context.principal.device else {
      throw context.gone
    }
    try await credential?.sendCheck(in: transaction)()
    // A copy of the old secret would reach the new session. Wires without secrets have none to copy.
    let secret = style.keepsSessions ? nil : Credential(.device, of: device)
    let mustMeet = context.app.sessionSettings.mfa == .required && methods.isEmpty
    _ = transaction.send(SessionsQueries.retire, user, session, ServerTime(), reason, mustMeet)
    let renewed = transaction.send(
      SessionsQueries.renew,
      user,
      session,
      ServerTime(),
      SessionID(),
      credential?.provider,
      BinaryBytes(Credential.salt()),
      context.app.sessionSettings.sessionLifetime,
      context.address.text,
      context.agent,
      credential?.opener,
      credential?.authenticatedAt,
      style.name,
      methods,
      credential?.issuerSession
    )
    if !methods.isEmpty {
      _ = transaction.send(SessionsQueries.raiseAssurance, user, device, methods)
    }
    if let secret {
      let hash = secret.hash(context.keys.master)
      _ = transaction.send(SessionsQueries.replaceSecret, device, hash)
    }
    var live = try await renewed.rows().first.orGone(context)
    live.deviceSecret = secret
    return live
  }
}

extension Failure {
  /// The refresh token is malformed, used up, expired, or of an ended session.
  package static let invalidRefreshToken = Failure("refresh_token_invalid", .unauthenticated)
    .titled("The session cannot be refreshed. The user must sign in again.")
    .remedied(
      "Sign in again. The session has ended, or the token was used more than 30 seconds after its "
        + "successor was issued."
    )
  package static let reauthenticationRequired = Failure(
    "reauthentication_required", .unauthenticated
  )
  .titled("The user must authenticate again first.")
  .remedied(
    "Sign in again, or ask the user for the password and send it to POST /v1/reauthenticate. "
      + "Then repeat the request. It must arrive within max_age seconds of the sign-in."
  )

  /// Returns the error for a live session whose last authentication is older than `maxAge`.
  package static func reauthenticationRequired(maxAge: Duration) -> Failure {
    .reauthenticationRequired(
      members: [("max_age", .number(JSONNumber(maxAge.wholeSeconds)))]
    )
  }
}
