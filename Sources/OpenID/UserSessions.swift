import Accounts
import Administration
package import EventLoop
package import Postgres
package import Runtime
import Sessions

/// A live session of a user, or a refresh token of a client, as a back end sees it.
package struct UserSession: Listed {
  package let id: SessionID
  /// The client of a refresh token; nil for a session.
  package let client: ClientID?
  /// The live session in the browser in which the client got the refresh token; nil for none.
  package let parent: SessionID?
  package let createdAt: Timestamp
  package let refreshedAt: Timestamp
  package let authenticatedAt: Timestamp
  /// When it ends if it is not used before.
  package let expiresAt: Timestamp
  /// The address and the agent of the sign-in.
  package let address: String?
  package let agent: String?
  /// The authentication methods (RFC 8176).
  package let methods: [String]
  package let scope: String
  /// The resource server of the access tokens; nil for none.
  package let audience: String?
  /// The clients that the user has signed in to in this session.
  package let clients: [String]

  package var cursor: SessionID { id }

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    client = row.id(ifAny: 1)
    parent = row.id(ifAny: 2)
    createdAt = try row.time(3)
    refreshedAt = try row.time(4)
    authenticatedAt = try row.time(5)
    expiresAt = try row.time(6)
    address = row.text(ifAny: 7)
    agent = row.text(ifAny: 8)
    methods = try row.text(9).split(separator: " ").map(String.init)
    scope = try row.text(10)
    audience = row.text(ifAny: 11)
    clients = try row.text(12).split(separator: " ").map(String.init)
  }
}

/// The sessions and refresh tokens of users, for back ends.
///
/// A session is a sign-in of the user. A refresh token is a session of a client with
/// `offline_access`, which outlives the session that it came from.
@EventLoop package enum UserSessions {
  package enum Kind: Sendable {
    case session
    case refreshToken
  }

  /// Which sessions and refresh tokens of a user end.
  package struct Ending: Sendable {
    /// One of them, and with a session those of clients in its browser; nil for all.
    package let one: SessionID?
    package let includesSessions: Bool
    package let includesRefreshTokens: Bool

    package init(_ one: SessionID? = nil, sessions: Bool, refreshTokens: Bool) {
      (self.one, includesSessions, includesRefreshTokens) = (one, sessions, refreshTokens)
    }
  }

  /// Returns the live sessions or refresh tokens of a user, newest first.
  ///
  /// `count` is from 1 to `PageLimit.most`.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  package static func page(
    _ kind: Kind, of user: UserID, before cursor: SessionID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> Page<UserSession> {
    let found = try await list(kind, of: user, nil, before: cursor, count: count, context)
    guard let found else { throw .notFound }
    return Page(found, of: count)
  }

  /// Returns a live session or refresh token of a user; nil if it does not exist.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func find(
    _ kind: Kind, _ id: SessionID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> UserSession? {
    try await list(kind, of: user, id, before: nil, count: 1, context)?.first
  }

  private static func list(
    _ kind: Kind, of user: UserID, _ one: SessionID?, before cursor: SessionID?, count: Int,
    _ context: RequestContext
  ) async throws(Failure) -> [UserSession]? {
    try await context.list(
      UserSessionQueries.list, user, context.principal, kind == .refreshToken, one, cursor, count
    )
  }

  /// Ends sessions and refresh tokens of a user.
  ///
  /// - Parameters:
  ///   - ending: which of them end.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Throws: `.notFound` if the user does not exist, `.databaseUnavailable`.
  package static func end(
    _ ending: Ending, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await UserAdministration.change(user, context) { (transaction, _) async throws(Failure) in
      try await end(ending, of: user, in: transaction)
    }
  }

  /// Does the same in a transaction that has locked the user.
  static func end(
    _ ending: Ending, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    let ended = try await transaction.run(
      UserSessionQueries.end, user, ending.one, ending.includesSessions,
      ending.includesRefreshTokens
    )
    Sessions.recordEnds(ended, of: user, "revoked", in: transaction)
  }
}

package enum UserSessionQueries {
  /// Returns at least one row if the principal may access the user.
  ///
  /// Served by `sessions_live`.
  /// - Parameter 3: whether to return refresh tokens instead of sessions.
  /// - Parameter 4: the only one to return; null for all.
  static let list = Statement<
    Found<UserSession>, UserID, Principal, Bool, SessionID?, SessionID?, Int
  >(
    "user_sessions.list",
    """
    select s.session_id, s.client_id,
      (select max(p.session_id) from sessions p
        where p.user_id = $1 and p.device_id = s.browser_id and p.client_id is null
          and p.ended_at is null and p.expires_at > now()),
      s.created_at, s.refreshed_at, s.authenticated_at, s.expires_at, host(s.address), s.agent, s.amr, s.scope, s.audience,
      coalesce((select string_agg(distinct c.client_id, ' ') from sessions c
        where c.user_id = $1 and c.browser_id = s.device_id and c.ended_at is null
          and c.expires_at > now()), '')
    from users c
    left join lateral (
      select s.session_id, s.device_id, s.client_id, s.browser_id, s.created_at, s.refreshed_at,
        s.authenticated_at, s.expires_at, s.address, s.agent, s.amr, s.scope, s.audience
      from sessions s
      where s.user_id = $1 and s.ended_at is null and s.expires_at > now()
        and case when $3::boolean
          then s.client_id is not null and \(.isOffline)
          else s.client_id is null end
        and ($4::text is null or s.session_id = $4) and s.session_id < coalesce($5, 'g')
      order by s.session_id desc limit $6::bigint
    ) s on true
    where \(.isAuthorized)
    order by s.session_id desc
    """)

  /// Ends sessions and returns them.
  ///
  /// - Parameter 2: one of them, and with a session those of clients in its browser; null for all.
  /// - Parameter 3: whether sessions end, of the user and of clients without `offline_access`.
  /// - Parameter 4: whether sessions of clients with `offline_access` end.
  static let end = Statement<StandingSession, UserID, SessionID?, Bool, Bool>(
    "user_sessions.end",
    """
    update sessions s set ended_at = now(), end_reason = 'revoked'
    where s.user_id = $1 and s.ended_at is null
      and ($2::text is null or s.session_id = $2 or $3 and s.browser_id = (
        select o.device_id from sessions o where o.user_id = $1 and o.session_id = $2))
      and case when s.client_id is not null and \(.isOffline)
        then $4::boolean else $3::boolean end
    returning s.session_id, s.device_id
    """)
}
