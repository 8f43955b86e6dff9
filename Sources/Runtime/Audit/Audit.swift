import EventLoop
import JSON
package import Postgres

package enum Audit {
  /// Returns the events of a user, newest first; operators and API clients also see deleted users.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: the size of the page, from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the page.
  /// - Throws: `.notFound` if the user never existed, `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func page(
    of user: UserID, before cursor: EventID?, count: Int = PageLimit.most, _ context: RequestContext
  ) async throws(Failure) -> Page<AuditEntry> {
    let app = context.app.id
    if context.principal.user != nil {
      let found = try await context.list(AuditQueries.page, user, context.principal, cursor, count)
      guard let found else { throw context.gone }
      return Page(found, of: count)
    }
    let found = try await context.read(AuditLogQueries.user, user, app, cursor, count)
    if found.isEmpty, try await context.first(AuditLogQueries.known, user, app) == nil {
      throw context.gone
    }
    return Page(found, of: count)
  }
}

extension Audit {
  /// Refuses API clients without the scope; users may read their own events.
  @EventLoop package static func requireReadable(_ context: RequestContext) throws(Failure) {
    if context.principal.user == nil { try context.require(Scopes.readUserLogs) }
  }
}

extension SQL {
  /// The columns of an `AuditEntry`.
  static let auditEntry: SQL = """
    e.id, e.at, e.action, e.actor, e.user_id, e.session_id, e.device_id, e.address, e.agent,
      e.detail, e.app
    """
}

package enum AuditQueries {
  /// Returns at least one row if the session is live.
  ///
  /// Served by the primary key, since ids sort by time.
  static let page = Statement<Found<AuditEntry>, UserID, Principal, EventID?, Int>(
    "audit.page",
    """
    select \(.auditEntry) from users c
    left join lateral (
      select \(.auditEntry) from audit_entries e
      where e.subject_id = $1 and e.id < coalesce($3, 'g')
      order by e.id desc limit $4::bigint
    ) e on true
    where \(.isAuthorized)
    order by e.id desc
    """)

  package static let all: [any PreparedStatement] = [page]
}
