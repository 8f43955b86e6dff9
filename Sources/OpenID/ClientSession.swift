import JSON
import Encoding
package import EventLoop
package import Postgres
package import Runtime
import Sessions
package import Tenancy
import Records

/// A session of an OpenID Connect client.
///
/// It begins when the client exchanges a code, which the user's browser got at the pages. Or the client
/// signs the user in itself.
package struct ClientSession: RowDecodable {
  package let user: UserID
  package let session: SessionID
  /// The client's place in the browser.
  package let device: DeviceID
  package let client: ClientID
  package let scopes: [String]
  package let audience: String?
  /// When the user authenticated, in seconds since 1970.
  package let authenticatedAt: Int
  /// The authentication methods (RFC 8176).
  package let methods: [String]
  /// The issuer of its tokens: one of the hosts of the app.
  let issuer: String
  /// How often its refresh token was exchanged, plus 1.
  var generation: Int
  let salt: [UInt8]

  /// The name of the style of these sessions.
  package static let style = "openid"
  /// How many sessions of a user a client may have in one browser.
  ///
  /// A page without refresh tokens begins one whenever it loads.
  static let limit = 10

  /// Returns how long a session with some scopes lasts without a refresh.
  static func lifetime(
    of scopes: [String], for client: Client, at server: ResourceServer?
  ) -> Duration {
    scopes.contains(.offlineAccess)
      ? client.settings.refreshTokenLifetime
      : server?.tokenLifetime ?? TokenIssue.usualLifetime
  }

  package init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    session = SessionID(trusted: try row.text(1))
    device = DeviceID(trusted: try row.text(2))
    client = ClientID(trusted: row.text(ifAny: 3) ?? "")
    scopes = try row.text(4).split(separator: " ").map(String.init)
    audience = row.text(ifAny: 5)
    authenticatedAt = try row.time(6).seconds
    methods = try row.text(7).split(separator: " ").map(String.init)
    generation = try row.int(8)
    salt = try row.binary(9)
    issuer = try row.text(10)
  }

  /// Returns the refresh token of the session.
  @EventLoop func refreshToken(_ context: RequestContext) -> String {
    Credential(.refreshToken, of: user, part: session, number: generation, salt: salt)
      .text(context.keys.master)
  }

  /// Returns the scopes of the session that a client asks for; all if it names none.
  ///
  /// A client may repeat the scopes of its sign-in, which also left out those that do not exist.
  /// - Throws: `.scopeNotGranted` if the session has none of them.
  func granting(_ wanted: [String]?) throws(Failure) -> [String] {
    guard let wanted, let first = wanted.first else { return scopes }
    let granted = wanted.filter { scopes.has(scope: $0) }
    guard !granted.isEmpty else { throw .scopeNotGranted(scope: first) }
    return granted
  }

  /// The principal of its tokens, with some or all of its scopes.
  func principal(in app: AppID, _ scopes: [String]) -> Principal {
    Principal(user, session, device, in: app, scopes: Scopes(scopes.joined(separator: " ")))
  }
}

@EventLoop package enum ClientSessions {
  /// Returns the place of a client in a browser: an id that no client can make up.
  ///
  /// Users see the sessions of one client in one browser as one device.
  static func place(
    of client: ClientID, on device: DeviceID, _ context: RequestContext
  ) -> DeviceID {
    let mark = context.keys.master.mark(of: Array("place \(client) \(device)".utf8), by: 0)
    return DeviceID(bytes: mark.prefix(12))
  }

  /// Returns a live session of a client.
  ///
  /// - Throws: `.databaseUnavailable`.
  static func find(
    _ session: SessionID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> ClientSession? {
    try await context.read(ClientSessionQueries.find, user, session, on: .exclusive).first
  }

  /// Returns the live session of a refresh token, which may not be the current one.
  ///
  /// - Throws: `.databaseUnavailable`.
  static func session(
    of refreshToken: String, _ context: RequestContext
  ) async throws(Failure) -> ClientSession? {
    guard let token = Credential(.refreshToken, refreshToken, context.keys.master) else {
      return nil
    }
    let (user, id) = (token.owner(as: UserID.self), token.part(as: SessionID.self))
    return try await find(id, of: user, context)
  }

  /// Returns whether a session of a client is live and its user not blocked.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func isLive(
    _ session: SessionID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    try await !context.read(ClientSessionQueries.live, user, session.text, on: .exclusive).isEmpty
  }

  /// Returns the session of a refresh token that a client can exchange.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func session(
    ofRefreshToken text: String, of client: Client, _ context: RequestContext
  ) async throws(Failure) -> ClientSession? {
    guard let token = Credential(.refreshToken, text, context.keys.master) else { return nil }
    let (user, id) = (token.owner(as: UserID.self), token.part(as: SessionID.self))
    guard let session = try await find(id, of: user, context), session.client == client.id,
      session.generation == token.number, session.salt == token.salt
    else { return nil }
    let settings = context.app.sessionSettings
    let refreshable = try await context.read(
      ClientSessionQueries.refreshable, user, id.text, settings.longestSession,
      settings.mfa == .required, on: .exclusive
    )
    return refreshable.isEmpty ? nil : session
  }

  /// Ends the session of a refresh token, as a client asks at the revocation endpoint.
  ///
  /// Does nothing if the token is unknown or another client's.
  /// - Throws: `.databaseUnavailable`.
  static func revoke(
    refreshToken text: String, of client: Client, at issuer: String, _ context: RequestContext
  ) async throws(Failure) {
    guard let token = Credential(.refreshToken, text, context.keys.master) else { return }
    try await revoke(
      token.part(as: SessionID.self), of: token.owner(as: UserID.self), by: client, at: issuer,
      context
    )
  }

  /// Ends a session of a client.
  static func revoke(
    _ session: SessionID, of user: UserID, by client: Client, at issuer: String,
    _ context: RequestContext
  ) async throws(Failure) {
    guard let found = try await find(session, of: user, context), found.client == client.id,
      found.issuer.hasSameBytes(as: issuer)
    else { return }
    try await Sessions.end(session, of: user, "revoked_by_client", context)
  }
}

package enum ClientSessionQueries {
  /// Ends the oldest sessions of a client in a browser, beyond a limit.
  ///
  /// - Parameter 2: the device of the client in the browser.
  /// - Parameter 4: the limit, less one.
  static let makeRoom = Statement<NoRow, UserID, DeviceID, ClientID, Int>(
    "client_sessions.make_room",
    """
    update sessions s set ended_at = now(), end_reason = 'session_limit'
    where s.user_id = $1 and s.session_id = any (array(
      select o.session_id from sessions o
      where o.user_id = $1 and o.device_id = $2 and o.client_id = $3 and o.ended_at is null
      order by o.session_id desc offset $4::bigint limit 100))
    """)

  /// Opens a session in the browser of a live one of the pages.
  ///
  /// Returns no row if the session of the pages has ended or the user is blocked. The session of a
  /// passkey ends with it, as that of the pages does.
  /// - Parameter 2: the session of the pages, which must be live.
  /// - Parameter 14: the session of the pages in which the user authenticated: the same, or one that
  ///   it has replaced.
  static let open = Statement<
    ClientSession, UserID, Principal, SessionID, DeviceID, ClientID, String, String?, BinaryBytes,
    Duration, String?, String?, String, Bool, SessionID
  >(
    "client_sessions.open",
    """
    insert into sessions as n (
      user_id, session_id, device_id, app_id, client_id, provider, scope, audience, refresh_salt,
      expires_at, address, agent, key_id, authenticated_at, style, amr, browser_id, issuer,
      notifies, issuer_session)
    select c.user_id, $3, $4, p.app_id, $5, p.provider, $6, $7, $8, now() + $9::interval, $10::inet,
      $11, p.key_id, p.authenticated_at, 'openid', p.amr, p.device_id, $12, $13,
      p.issuer_session
    from users c
    join sessions p on p.user_id = $1 and p.session_id = $14 and p.style = 'pages'
    where \(.isAuthorized)
    returning n.user_id, n.session_id, n.device_id, n.client_id, n.scope, n.audience,
      n.authenticated_at, n.amr, n.refresh_generation, n.refresh_salt, n.issuer
    """)

  /// Returns the live session that has replaced a session of the pages in its browser.
  ///
  /// Returns no row if anything else than a further sign-in, a link or a new second factor has ended
  /// one of the sessions since. A changed password, for example, does not spare what it replaces.
  static let successor = Statement<SessionID, UserID, SessionID>(
    "client_sessions.successor",
    """
    select n.session_id from sessions o
    join sessions n on n.user_id = $1 and n.device_id = o.device_id
    where o.user_id = $1 and o.session_id = $2 and o.style = 'pages' and o.ended_at is not null
      and n.style = 'pages' and n.ended_at is null and n.expires_at > now()
      and not exists (
        select 1 from sessions l
        where l.user_id = $1 and l.device_id = o.device_id and l.style = 'pages'
          and greatest(l.created_at, l.ended_at) >= o.ended_at and l.ended_at is not null
          and l.end_reason not in ('login', 'link', 'second_factor_add'))
    limit 1
    """)

  /// Returns a live session of a client; no row if it has ended.
  static let find = Statement<ClientSession, UserID, SessionID>(
    "client_sessions.find",
    """
    select user_id, session_id, device_id, client_id, scope, audience, authenticated_at, amr,
      refresh_generation, refresh_salt, issuer
    from sessions
    where user_id = $1 and session_id = $2 and ended_at is null and expires_at > now()
      and style = 'openid'
    """)

  /// Returns one row if a session is live and its user not blocked.
  static let live = Statement<String, UserID, String>(
    "client_sessions.live", "select c.user_id from users c where \(.isAuthorized)"
  )

  /// Returns one row if a session may be refreshed.
  ///
  /// - Parameters 3, 4: as 7 and 10 of `SessionsQueries.rotate`.
  static let refreshable = Statement<String, UserID, String, Duration?, Bool>(
    "client_sessions.refreshable",
    """
    select c.user_id from users c join sessions s on s.user_id = $1 and s.session_id = $2::text
    where \(.isAuthorized) and \(.isRefreshable(longest: "$3::interval", mfa: "$4::boolean"))
    """)
}
