import EventLoop
package import Postgres

/// The audit trail for those who administer.
extension Audit {
  /// The trail of a user, the newest first; also of one that was deleted.
  ///
  /// - Parameters:
  ///   - user: whose.
  ///   - app: of which.
  ///   - cursor: the `next` of the page before; nil for the first page.
  ///   - count: from 1 to `pageSize`.
  ///   - administrator: who asks.
  /// - Returns: facts with `id, at, action, actor, session_id, device_id, address, agent, detail`.
  /// - Throws: `.notFound` when there never was such a user, `.unavailable`.
  @EventLoop package static func page(
    of user: UserID,
    in app: AppID,
    before cursor: EventID?,
    count: Int = pageSize,
    for administrator: Administrator
  ) async throws(Failure) -> Page<EventID> {
    let rows = try await administrator.store.read(
      TrailQueries.user,
      user,
      app,
      cursor,
      min(max(count, 1), pageSize)
    )
    guard let page = rows.first else { throw .notFound }
    return page
  }

  /// What was done in an app, or in all and to the deployment itself, the newest first.
  ///
  /// - Parameters:
  ///   - app: nil for all.
  ///   - cursor: the `next` of the page before; nil for the first page.
  ///   - count: from 1 to `pageSize`.
  ///   - administrator: who asks.
  /// - Returns: facts as of a user, with `app` and `user_id`; null where it was about none.
  /// - Throws: `.unavailable`.
  @EventLoop package static func page(
    of app: AppID?,
    before cursor: EventID?,
    count: Int = pageSize,
    for administrator: Administrator
  ) async throws(Failure) -> Page<EventID> {
    let rows = try await administrator.store.read(
      TrailQueries.app,
      app,
      cursor,
      min(max(count, 1), pageSize)
    )
    return try rows.first.orUnforeseen("a page of the audit trail")
  }
}

package enum TrailQueries {
  /// No row when there is neither such a user nor a trail of one.
  ///
  /// Served by the primary key.
  static let user = Statement<Page<EventID>, UserID, AppID, EventID?, Int>(
    "trail.user",
    """
    select coalesce(json_agg(json_build_object(
        'id', a.event_id, 'at', a.at, 'action', a.action, 'actor', a.actor,
        'session_id', a.session_id, 'device_id', a.device_id, 'address', host(a.address),
        'agent', a.agent, 'detail', a.detail) order by a.event_id desc), '[]')::text,
      case when count(*) = $4::bigint then min(a.event_id::text) end
    from (
      select * from audit
      where user_id = $1 and app_id = $2 and ($3::text is null or event_id < $3)
      order by event_id desc limit $4::bigint
    ) a
    having count(*) > 0
      or exists (select from users where user_id = $1 and app_id = $2)
      or exists (select from audit where user_id = $1 and app_id = $2)
    """
  )

  /// Served by `audit_by_app`: the newest of each app, and of these the newest.
  static let app = Statement<Page<EventID>, AppID?, EventID?, Int>(
    "trail.app",
    """
    select coalesce(json_agg(json_build_object(
        'id', e.event_id, 'at', e.at, 'app', e.app, 'action', e.action, 'actor', e.actor,
        'user_id', nullif(e.user_id, e.app_id), 'session_id', e.session_id,
        'device_id', e.device_id, 'address', host(e.address), 'agent', e.agent,
        'detail', e.detail) order by e.event_id desc), '[]')::text,
      case when count(*) = $3::bigint then min(e.event_id::text) end
    from (
      select a.*, p.name as app
      from (select app_id::text, name from apps union all select repeat('0', 24), null) p
      cross join lateral (
        select * from audit a
        where a.app_id = p.app_id and ($2::text is null or a.event_id < $2)
        order by a.event_id desc limit $3::bigint
      ) a
      where $1::text is null or p.app_id = $1
      order by a.event_id desc limit $3::bigint
    ) e
    """
  )

  package static let all: [any PreparedStatement] = [user, app]
}
