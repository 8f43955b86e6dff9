package import EventLoop
package import Postgres
package import Runtime
package import Tenancy

/// Ends the sessions that began at an issuer, when the user signs out there.
@EventLoop package enum IssuerSignOut {
  /// Returns some users with live sessions that a session at an issuer has begun.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func users(
    in session: String, at provider: IdentityProvider, _ context: RequestContext
  ) async throws(Failure) -> Set<UserID> {
    let (app, page) = (context.app.id, IssuerSignOutQueries.page)
    return Set(
      try await context.read(
        IssuerSignOutQueries.users, app, provider, session, page, on: .exclusive))
  }

  /// Ends the sessions of a user that an issuer has begun before a time, and records that.
  ///
  /// Sessions with offline access go on, as when the user signs out of the browser here.
  /// - Parameters:
  ///   - user: the user.
  ///   - provider: the provider of the identity.
  ///   - session: the session at the issuer; nil for all.
  ///   - time: the time in seconds since 1970. A message that arrives again ends no later session.
  ///   - context: the context of the request.
  /// - Returns: the number of ended sessions.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult package static func end(
    of user: UserID, signedInBy provider: IdentityProvider, in session: String?, before time: Int,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    try await context.transaction { transaction async throws(Failure) in
      // A client that exchanges a code now runs before this, or finds the session ended.
      _ = transaction.send(SessionsQueries.lockUser, user)
      let ended = try await transaction.run(
        IssuerSignOutQueries.end, user, provider, session, time)
      let actor = Principal.user(of: context.app.id)
      Sessions.recordEnds(ended, of: user, "issuer_logout", by: actor, in: transaction)
      return ended.count
    }
  }
}

package enum IssuerSignOutQueries {
  /// The users that are read at once; a session at an issuer has one.
  static let page = 10

  /// Returns users with live sessions that a session at an issuer has begun.
  ///
  /// It asks all shards. Served by `sessions_of_issuer_session`.
  package static let users = Statement<UserID, AppID, IdentityProvider, String, Int>(
    "issuer_sign_out.users",
    """
    select user_id from sessions
    where app_id = $1 and provider = $2 and issuer_session = $3 and ended_at is null
    order by user_id limit $4::bigint
    """)

  /// Ends live sessions of a user and returns them.
  ///
  /// - Parameter 2: the provider of the identity that signed in.
  /// - Parameter 3: the session at the issuer; null for all.
  /// - Parameter 4: the last second in which they began, since 1970.
  package static let end = Statement<
    StandingSession, UserID, IdentityProvider, String?, Int
  >(
    "issuer_sign_out.end",
    """
    update sessions s set ended_at = now(), end_reason = 'issuer_logout'
    where s.user_id = $1 and s.provider = $2 and ($3::text is null or s.issuer_session = $3)
      and s.ended_at is null and s.expires_at > now()
      and s.created_at < to_timestamp($4::bigint + 1) and \(.endsWithBrowser)
    returning s.session_id, s.device_id
    """)
}
