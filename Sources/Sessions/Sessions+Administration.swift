package import Runtime
import EventLoop
import JSON
package import Postgres

extension Sessions {
  /// Ends all sessions of an app, or of the users of one issuer, a thousand users at a time.
  ///
  /// It can be repeated after an interruption: ended sessions stay ended.
  /// - Parameters:
  ///   - app: the app.
  ///   - issuer: the operator's name for an issuer, or its `iss`; a removed one is known by its
  ///     `iss`. Nil for all users.
  ///   - context: the context of the request.
  ///   - progress: receives the numbers of users checked and of sessions ended so far.
  /// - Returns: the number of ended sessions.
  /// - Throws: `.notFound` if the issuer is unknown, `.databaseUnavailable`.
  @EventLoop package static func endAll(
    of app: AppID,
    issuer: String?,
    _ context: RequestContext,
    _ progress: @EventLoop (_ users: Int, _ sessions: Int) -> Void
  ) async throws(Failure) -> Int {
    var provider: String?
    if let issuer {
      let found = try await context.read(SessionsAdministrationQueries.provider, app, issuer)
      guard let found = found.first else { throw .notFound }
      provider = found
    }
    var cursor: UserID?
    var (users, sessions) = (0, 0)
    repeat {
      let rows = try await context.write(
        SessionsAdministrationQueries.end,
        app,
        cursor,
        provider,
        context.principal.name,
        context.address.text,
        context.agent
      )
      let batch = try rows.first.orUnforeseen("a batch of users")
      cursor = batch.last
      users += batch.users
      sessions += batch.sessions
      progress(users, sessions)
    } while cursor != nil
    var detail = JSONObject()
    detail["sessions"] = .number(JSONNumber(sessions))
    detail["issuer"] = issuer.map(JSON.string)
    try await context.transaction { [detail] transaction async throws(Failure) in
      try await Event("sessions_end", detail: .object(detail)).record(
        in: transaction,
        app: app,
        context
      )
    }
    return sessions
  }
}

/// The result of one batch of a thousand users.
struct EndedSessions: RowDecodable {
  /// The last user of the batch; nil after the last batch.
  let last: UserID?
  let users: Int
  let sessions: Int

  init(from row: Row) throws(DatabaseError) {
    last = row.text(ifAny: 0).map(UserID.init(trusted:))
    users = try row.int(1)
    sessions = try row.int(2)
  }
}

package enum SessionsAdministrationQueries {
  /// Returns the identity provider of an issuer; no row if the issuer is unknown.
  static let provider = Statement<String, AppID, String>(
    "sessions.provider_of_issuer",
    """
    select 'jwt:' || issuer from issuers where app_id = $1 and (name = $2 or issuer = $2)
    union all
    (select provider from identity_subjects where app_id = $1 and provider = 'jwt:' || $2::text
      order by subject limit 1)
    limit 1
    """
  )

  /// Ends the sessions of the next thousand users, and records an event for each user.
  ///
  /// With a provider, it ends only the sessions of users with an identity of that provider. Served
  /// by `users_by_app`.
  static let end = Statement<
    EndedSessions, AppID, UserID?, String?, String, String?, String?
  >(
    "sessions.end_all",
    """
    with batch as (
      select user_id from users
      where app_id = $1 and user_id > coalesce($2, '') order by user_id limit 1000
    ), ended as (
      update sessions s set ended_at = now(), end_reason = 'sessions_end'
      from batch b
      where s.user_id = b.user_id and s.ended_at is null and s.expires_at > now()
        and ($3::text is null or exists (
          select from identities i where i.user_id = b.user_id and i.provider = $3))
      returning s.user_id, s.session_id, s.device_id
    ), facts as (
      select record_event(user_id, $1, 'session_end', $4, session_id, device_id, $5::inet, $6,
        '{"reason": "sessions_end"}')
      from ended
    )
    select max(user_id::text), count(*), (select count(*) from facts) from batch
    """
  )

  package static let all: [any PreparedStatement] = [provider, end]
}
