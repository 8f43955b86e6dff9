package import Runtime
package import EventLoop
import Postgres

/// Sessions: a sign-in creates them, refreshes extend them, and a sign-out ends them.
@EventLoop package enum Sessions {
  /// The tokens that a sign-in, a refresh or a switch returns.
  package struct TokenSet: Sendable {
    package let accessToken: String
    package let refreshToken: String
    /// The lifetime of the access token.
    package let lifetime: Duration
    package let user: UserID
    package let device: DeviceID
    /// The new secret of the device; nil if the old one stays valid.
    package let deviceSecret: String?
  }

  /// How long a refresh token may be sent again after its exchange.
  ///
  /// Two tabs, or a client that lost the response, get the same successor.
  package nonisolated static let grace = Duration.seconds(30)

  /// A session may refresh 100 times at once, and then once every six seconds.
  private nonisolated static let refreshPause = Duration.seconds(6)
  private nonisolated static let refreshLimit = refreshPause * 99

  /// Exchanges a refresh token for new tokens.
  ///
  /// - Throws: `.invalidRefreshToken`, `.tooManyAttempts`, `.databaseUnavailable`.
  package static func refresh(
    _ text: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> TokenSet {
    let (user, live) = try await rotate(
      text, of: style.name, client: nil, for: context.app.sessionSettings.sessionLifetime, context
    )
    return try await grant(live, of: user, as: style, context)
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
    let superseded = try await context.readLatest(
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
      refreshLimit - .seconds(1)
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

  /// Returns the current tokens of a session.
  package static func grant(
    _ live: LiveSession, of user: UserID, as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> TokenSet {
    // From here on, the request acts as the user of the session.
    context.principal = Principal(
      user, live.session, live.device, in: context.app.id, scopes: Scopes(live.scope)
    )
    return TokenSet(
      accessToken: try await accessToken(as: style, context),
      refreshToken: signedRefreshToken(as: style, context)
        ?? Credential(
          .refreshToken, of: user, part: live.session, number: live.generation, salt: live.salt
        ).text(context.keys.master),
      lifetime: context.app.sessionSettings.accessTokenLifetime,
      user: user,
      device: live.device,
      deviceSecret: live.deviceSecret?.text(context.keys.master)
    )
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
