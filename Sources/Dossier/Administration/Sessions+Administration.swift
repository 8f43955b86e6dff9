import EventLoop
import JSON
package import Postgres

extension Sessions {
  /// Ends all sessions of an app, or those of the users of one issuer, a thousand users at a time.
  ///
  /// It may be done again after it was interrupted: what has ended has ended.
  /// - Parameters:
  ///   - app: of which.
  ///   - issuer: the name that the operator has for one, or its `iss`, also one that was removed; nil
  ///     for all users.
  ///   - context: the context of the request.
  ///   - progress: is told how many users were looked at and how many sessions have ended so far.
  /// - Returns: how many sessions have ended.
  /// - Throws: `.notFound` when nobody knows the issuer, `.unavailable`.
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

/// What became of a thousand users.
struct EndedSessions: RowDecodable {
  /// Nil when there are no more users.
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
  /// By which provider the identities of an issuer are known; no row for one that nobody knows.
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

  /// Ends the sessions of the next thousand users, or of those among them who have an identity of the
  /// provider, and records each.
  ///
  /// Served by `users_by_app`.
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
