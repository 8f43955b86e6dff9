import EventLoop
package import Postgres

/// The audit log for operators and API clients.
extension Audit {
  /// Returns the events of an app, or of all apps and the deployment, newest first.
  ///
  /// - Parameters:
  ///   - app: the app; nil for all.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the page.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func page(
    of app: AppID?, before cursor: EventID?, count: Int = PageLimit.most, _ context: RequestContext
  ) async throws(Failure) -> Page<AuditEntry> {
    let apps =
      if let app { [app] } else { try await context.read(AuditLogQueries.apps) + [.deployment] }
    let calls = apps.map { PendingQuery(AuditLogQueries.app, $0, cursor, count) }
    let entries = try await context.search(AuditLogQueries.app, calls)
    return Page(Array(entries.sorted { $0.id.text > $1.id.text }.prefix(count)), of: count)
  }

  /// Returns the events of an app after one of them, or from the first, oldest first.
  ///
  /// Events of the newest ten seconds are missing: one with a smaller id may commit later. Workers make
  /// the ids, so an event that commits still later is skipped for good. `count` is from 1 to
  /// `PageLimit.most`.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func page(
    of app: AppID, after event: EventID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> [AuditEntry] {
    try await context.search(AuditLogQueries.after, app, event, count)
  }

  /// Returns an event of an app; nil if the app has no such event.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    _ id: EventID, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> AuditEntry? {
    try await context.search(AuditLogQueries.event, app, id).first
  }
}

package enum AuditLogQueries {
  /// Served by the primary key, since ids sort by time.
  static let user = Statement<AuditEntry, UserID, AppID, EventID?, Int>(
    "audit_log.user",
    """
    select \(.auditEntry) from audit_entries e
    where e.subject_id = $1 and e.app_id = $2 and e.id < coalesce($3, 'g')
    order by e.id desc limit $4::bigint
    """)

  /// Returns no row if neither the user nor an event of the user exists.
  ///
  /// Served by the primary keys.
  static let known = Statement<UserID, UserID, AppID>(
    "audit_log.known",
    """
    select user_id from users where user_id = $1 and app_id = $2
    union all
    (select user_id from audit where user_id = $1 and app_id = $2 limit 1)
    """)

  static let apps = Statement<AppID>("audit_log.apps", "select app_id from apps")

  /// Returns the newest events of an app.
  ///
  /// Served by `audit_by_app`.
  static let app = Statement<AuditEntry, AppID, EventID?, Int>(
    "audit_log.app",
    """
    select \(.auditEntry) from audit_entries e
    where e.app_id = $1 and e.id < coalesce($2, 'g')
    order by e.id desc limit $3::bigint
    """)

  /// Returns the events after another one, but those of the last ten seconds: an earlier one may
  /// still be on its way.
  ///
  /// Served by `audit_by_app`. Ids begin with their second.
  static let after = Statement<AuditEntry, AppID, EventID?, Int>(
    "audit_log.after",
    """
    select \(.auditEntry) from audit_entries e
    where e.app_id = $1 and e.id > coalesce($2, '')
      and e.id < to_hex(extract(epoch from now())::bigint - 10)
    order by e.id limit $3::bigint
    """)

  /// Served by `audit_by_app`.
  static let event = Statement<AuditEntry, AppID, EventID>(
    "audit_log.event",
    """
    select \(.auditEntry) from audit_entries e
    where e.app_id = $1 and e.id = $2
    """)

  package static let all: [any PreparedStatement] = [user, known, apps, app, after, event]
}
