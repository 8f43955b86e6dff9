import EventLoop
import JSON
package import Postgres

/// One fact of the audit trail: who did what to whom, from where.
struct AuditEvent {
  private let action: String
  private let user: UserID?
  private let actor: String
  private let session: SessionID?
  private let device: DeviceID?
  private let detail: JSON

  /// - Parameters:
  ///   - action: login, login_failure, session_end, link, unlink, password_change … as the docs list
  ///     them.
  ///   - user: whom it is about; nil when that is not known, and then it is the app's.
  ///   - actor: `user`, `anyone`, `operator`, or `client:` and an id.
  ///   - session: in which it was done.
  ///   - device: on which it was done.
  ///   - detail: what else there is to tell; no secrets, no addresses of mail.
  init(
    _ action: String,
    of user: UserID?,
    by actor: String = "user",
    session: SessionID? = nil,
    device: DeviceID? = nil,
    detail: JSON = [:]
  ) {
    self.action = action
    self.user = user
    self.actor = actor
    self.session = session
    self.device = device
    self.detail = detail
  }

  @EventLoop func record(
    in transaction: Transaction,
    _ context: Context
  ) async throws(Failure) {
    try await record(in: transaction, app: context.app.id, from: context.origin)
  }

  @EventLoop func record(
    in transaction: Transaction,
    app: AppID,
    from origin: Origin
  ) async throws(Failure) {
    _ = try await transaction.run(
      AuditQueries.record,
      user?.text ?? app.text,
      EventID(),
      app,
      action,
      actor,
      session,
      device,
      origin.address,
      origin.agent,
      TextBytes(detail.serialized())
    )
  }

  @EventLoop func record(_ context: Context) async throws(Failure) {
    try await context.store.transaction { (transaction) async throws(Failure) in
      try await record(in: transaction, context)
    }
  }
}

package enum Audit {
  /// How many entries a page has at most.
  package static let pageSize = 100

  /// The caller's own trail, the newest first, from 1 to `pageSize` entries.
  ///
  /// `cursor` is the `next` of the page before; nil for the first page.
  /// - Throws: `.unauthenticated`, `.unavailable`.
  @EventLoop package static func page(
    of caller: Caller,
    before cursor: EventID?,
    count: Int,
    _ context: Context
  ) async throws(Failure) -> Page<AuditEntry> {
    let count = min(max(count, 1), pageSize)
    let found = try await context.store.list(
      AuditQueries.page,
      caller.user,
      caller.authority,
      cursor,
      count
    )
    guard let found else { throw caller.gone }
    return Page(found, of: count)
  }
}

extension Audit {
  /// Refuses programs without the scope; a user may read its own.
  static func requireReadable(by caller: Caller) throws(Failure) {
    guard case .program = caller.authority, !caller.scopes.contains(Scopes.readUserLogs) else {
      return
    }
    throw .forbidden(scope: Scopes.readUserLogs)
  }
}

/// The event of a change of a user's data: the statement that makes the change gives this to
/// `record_change`.
struct DataChange: Bindable {
  private let json: JSON

  /// Nil for a user's own change in an app that keeps no events of these.
  @EventLoop init?(of what: String, by caller: Caller, _ context: Context) {
    if caller.session != nil, !context.app.settings.recordsOwnChanges { return nil }
    json = [
      "what": .string(what), "actor": .string(caller.actor),
      "session": caller.session.map { .string($0.text) } ?? .null,
      "address": context.origin.address.map(JSON.string) ?? .null,
      "agent": context.origin.agent.map(JSON.string) ?? .null,
    ]
  }

  func appendText(to bytes: inout [UInt8]) -> Bool {
    TextBytes(json.serialized()).appendText(to: &bytes)
  }
}

package enum AuditQueries {
  /// Adds one fact.
  static let record = Statement<
    NoRow, String, EventID, AppID, String, String, SessionID?, DeviceID?, String?, String?,
    TextBytes
  >(
    "audit.record",
    """
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
    values ($1, $2, $3, $4, $5, $6, $7, $8::inet, $9, $10::jsonb)
    """
  )

  /// For a change that takes more than one statement, in their transaction.
  static let recordChange = Statement<NoRow, UserID, AppID, DataChange?>(
    "audit.record_change",
    "select record_change($1, $2, $3::jsonb)"
  )

  /// One row at least when the session is live.
  ///
  /// Served by the primary key: ids sort by time.
  static let page = Statement<Found<AuditEntry>, UserID, Authority, EventID?, Int>(
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

  package static let all: [any PreparedStatement] = [record, recordChange, page]
}
