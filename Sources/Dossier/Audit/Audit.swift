import EventLoop
import JSON
package import Postgres

package enum Audit {
  /// How many entries a page has at most.
  package static let pageSize = 100

  /// Returns the events of a user, the newest first; for administrators also those of a deleted user.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - cursor: the `next` of the page before; nil for the first page.
  ///   - count: the size of the page, from 1 to `pageSize`.
  ///   - context: the context of the request.
  /// - Returns: the page.
  /// - Throws: `.notFound` if there never was such a user, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func page(
    of user: UserID,
    before cursor: EventID?,
    count: Int = pageSize,
    _ context: RequestContext
  ) async throws(Failure) -> Page<AuditEntry> {
    let (count, principal) = (min(max(count, 1), pageSize), context.principal)
    let found =
      principal.user != nil
      ? try await context.list(AuditQueries.page, user, principal, cursor, count)
      : try await context.list(TrailQueries.user, user, context.app.id, cursor, count)
    guard let found else { throw context.gone }
    return Page(found, of: count)
  }
}

extension Audit {
  /// Refuses programs without the scope; a user may read its own.
  @EventLoop static func requireReadable(_ context: RequestContext) throws(Failure) {
    if context.principal.user == nil { try context.require(Scopes.readUserLogs) }
  }
}

package enum AuditQueries {
  /// One row at least when the session is live.
  ///
  /// Served by the primary key: ids sort by time.
  static let page = Statement<Found<AuditEntry>, UserID, Principal, EventID?, Int>(
    "audit.page",
    """
    select e.id, e.at, e.action, e.actor, e.user_id, e.session_id, e.device_id, e.address,
      e.agent, e.detail, e.app
    from caller($1, $2) c
    left join lateral (
      select e.id, e.at, e.action, e.actor, e.user_id, e.session_id, e.device_id, e.address,
        e.agent, e.detail, e.app
      from audit_entries e
      where e.subject_id = c.user_id and e.id < coalesce($3, 'g')
      order by e.id desc limit $4::bigint
    ) e on true
    order by e.id desc
    """
  )

  package static let all: [any PreparedStatement] = [page]
}
