import EventLoop
import Postgres

/// Sessions: opened by a login, carried on by refreshes, ended by a logout.
package enum Sessions {
  /// What a client gets for a login or a refresh.
  package struct Grant: Sendable {
    package let accessToken: String
    package let refreshToken: String
    /// Of the access token.
    package let lifetime: Duration
    package let user: UserID
    package let device: DeviceID
  }

  /// How long the exchange of a refresh token may be repeated: two tabs, or an answer that was
  /// lost, find the same successor.
  static let grace = Duration.seconds(30)

  /// Rows to be written in the transaction that logs a user in.
  struct Opening {
    let user: UserID
    let session = SessionID()
    let device = DeviceID()
    let app: App
    let provider: String
    let origin: Origin
    let refreshToken: RefreshToken

    init(user: UserID, app: App, provider: String, origin: Origin) {
      self.user = user
      self.app = app
      self.provider = provider
      self.origin = origin
      refreshToken = RefreshToken(user: user, session: session)
    }

    @EventLoop func write(
      in transaction: Transaction,
      _ key: MasterKey
    ) async throws(DatabaseError) {
      _ = try await transaction.run(
        SessionsQueries.open,
        user,
        session,
        device,
        app.id,
        provider,
        Scopes.user.text,
        BinaryBytes(refreshToken.hash(key)),
        Int(app.sessionLifetime.components.seconds),
        origin.address,
        origin.agent
      )
      _ = try await transaction.run(
        AuditQueries.record,
        user,
        EventID(),
        app.id,
        "login",
        "user",
        session,
        device,
        origin.address,
        origin.agent,
        "{}"
      )
    }
  }

  /// The tokens of a session that has been opened.
  @EventLoop static func grant(
    _ opening: Opening,
    _ tokens: AccessTokens,
    in store: Store
  ) async throws(Failure) -> Grant {
    let caller = Caller(
      user: opening.user,
      session: opening.session,
      device: opening.device,
      app: opening.app.id,
      scopes: .user
    )
    return try await grant(
      caller,
      opening.refreshToken,
      lifetime: opening.app.accessTokenLifetime,
      tokens,
      in: store
    )
  }

  @EventLoop private static func grant(
    _ caller: Caller,
    _ refreshToken: RefreshToken,
    lifetime: Duration,
    _ tokens: AccessTokens,
    in store: Store
  ) async throws(Failure) -> Grant {
    Grant(
      accessToken: try await tokens.issue(for: caller, lifetime: lifetime),
      refreshToken: refreshToken.text(store.keys.master),
      lifetime: lifetime,
      user: caller.user,
      device: caller.device
    )
  }

  /// Exchanges a refresh token for new tokens.
  ///
  /// The exchange of the current token may be repeated within `grace`, with the same outcome. A
  /// token two or more generations old has been stolen, or its successor has: the session ends.
  /// - Throws: `.invalidRefreshToken`, `.unavailable`.
  @EventLoop package static func refresh(
    _ text: String,
    app: App,
    from origin: Origin,
    _ tokens: AccessTokens,
    in store: Store
  ) async throws(Failure) -> Grant {
    let key = store.keys.master
    guard let token = RefreshToken(text, key) else { throw .invalidRefreshToken }
    let successor = token.successor(key)
    let rotated = try await store.write(
      SessionsQueries.rotate,
      token.user,
      token.session,
      app.id,
      BinaryBytes(token.hash(key)),
      BinaryBytes(successor.hash(key)),
      Int(app.sessionLifetime.components.seconds)
    )
    let session: RefreshedSession
    if let row = rotated.first {
      session = row
    } else {
      session = try await repeated(token, app: app, from: origin, in: store)
    }
    let caller = Caller(
      user: token.user,
      session: token.session,
      device: session.device,
      app: app.id,
      scopes: Scopes(session.scope)
    )
    return try await grant(
      caller,
      successor,
      lifetime: app.accessTokenLifetime,
      tokens,
      in: store
    )
  }

  /// The session of a token that is not the current one, if it was until just now.
  @EventLoop private static func repeated(
    _ token: RefreshToken,
    app: App,
    from origin: Origin,
    in store: Store
  ) async throws(Failure) -> RefreshedSession {
    // On the exclusive lane: this must see what a rotation that came first has committed.
    let rows = try await store.write(
      SessionsQueries.predecessor,
      token.user,
      token.session,
      app.id,
      BinaryBytes(token.hash(store.keys.master)),
      Int(grace.components.seconds)
    )
    if let session = rows.first?.session { return session }
    if let generation = rows.first?.generation, token.generation < generation - 1 {
      _ = try await store.write(
        SessionsQueries.end,
        token.user,
        token.session,
        "refresh_reuse",
        EventID(),
        origin.address,
        origin.agent
      )
    }
    throw .invalidRefreshToken
  }

  /// Ends the caller's session; the next request with any of its tokens is refused.
  ///
  /// - Throws: `.unauthenticated` when it has ended already, `.unavailable`.
  @EventLoop package static func end(
    _ caller: Caller,
    from origin: Origin,
    in store: Store
  ) async throws(Failure) {
    let ended = try await store.write(
      SessionsQueries.end,
      caller.user,
      caller.session,
      "logout",
      EventID(),
      origin.address,
      origin.agent
    )
    if ended.isEmpty { throw .unauthenticated(.sessionEnded) }
  }
}
