package import EventLoop
package import JSON
package import Postgres
package import Records

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
      e.detail, e.app, e.request_id
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
}

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
    let entries = try await context.read(AuditLogQueries.app, calls, on: .search).joined()
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
    try await context.read(AuditLogQueries.after, app, event, count, on: .search)
  }

  /// Returns an event of an app; nil if the app has no such event.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    _ id: EventID, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> AuditEntry? {
    try await context.read(AuditLogQueries.event, app, id, on: .search).first
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
}

/// An audit event, as it is read.
package struct AuditEntry: Listed {
  package let id: EventID
  package let at: Timestamp
  package let action: String
  package let actor: String
  /// Nil if the event concerns an app or the deployment.
  package let user: UserID?
  package let session: SessionID?
  package let device: DeviceID?
  package let address: String?
  package let agent: String?
  package var detail: JSON
  /// The name of the app; nil for the deployment, and for a deleted app.
  package let app: String?
  /// The id of the request; nil for events of no request, and for old events.
  package let request: String?

  package var cursor: EventID { id }

  /// Reads a row of the view `audit_entries`.
  package init(from row: Row) throws(DatabaseError) {
    id = EventID(trusted: try row.text(0))
    at = try row.time(1)
    action = try row.text(2)
    actor = try row.text(3)
    user = row.id(ifAny: 4)
    session = row.id(ifAny: 5)
    device = row.id(ifAny: 6)
    address = row.text(ifAny: 7)
    agent = row.text(ifAny: 8)
    detail = try row.json(9)
    app = row.text(ifAny: 10)
    request = row.text(ifAny: 11)
  }
}

/// An audit event.
///
/// It describes the action and the user. The context of the request gives the actor and the origin.
package struct Event {
  private let action: String
  private let user: UserID?
  private let place: EventPlace?
  private var detail: JSON
  /// Whether it is a change that a user made to its own data, which the audit log does not keep.
  package private(set) var isOnlyPublished = false

  /// - Parameters:
  ///   - action: login, login_failure, session_end, link, unlink, password_change … as the docs
  ///     list them.
  ///   - user: the user it concerns; nil for an event of the app.
  ///   - place: the session and the device it concerns; nil for those of the principal.
  ///   - detail: more facts; no secrets, no email addresses.
  package init(
    _ action: String, of user: UserID? = nil, at place: EventPlace? = nil, detail: JSON = [:]
  ) {
    self.action = action
    self.user = user
    self.place = place
    self.detail = detail
  }

  /// Creates the event of a refused login.
  ///
  /// - Parameters:
  ///   - provider: the kind of the credential.
  ///   - user: the owner of the credential; nil if unknown.
  ///   - connection: the name of the connection; nil without one.
  package init(
    loginFailureBy provider: String, of user: UserID? = nil, connection: String? = nil
  ) {
    var detail = JSONObject()
    detail["provider"] = .string(provider)
    detail["connection"] = connection.map(JSON.string)
    self.init("login_failure", of: user, detail: .object(detail))
  }

  /// Creates the event of a change of user data.
  ///
  /// Returns nil for a user's own change in an app that neither keeps nor publishes these.
  @EventLoop package init?(changeOf what: String, of user: UserID, _ context: RequestContext) {
    let app = context.app
    let isKept = context.principal.session == nil || app.eventSettings.recordsOwnChanges
    if !isKept {
      guard !app.events.all.isEmpty, let type = EventType.change(of: what),
        app.events.all.contains(type)
      else { return nil }
    }
    let place = EventPlace(session: context.principal.session, device: nil)
    self.init("data_change", of: user, at: place, detail: ["what": .string(what)])
    isOnlyPublished = !isKept
  }

  /// Creates the event of a user who has signed up, which the log keeps as changes of own data.
  ///
  /// Returns nil in an app that does not publish it: the sign-in that follows is in the log.
  @EventLoop fileprivate init?(signUpOf user: UserID, in app: App) {
    guard app.events.all.contains(.userCreated) else { return nil }
    let place = EventPlace(session: nil, device: nil)
    self.init("data_change", of: user, at: place, detail: ["what": "sign_up"])
    isOnlyPublished = !app.eventSettings.recordsOwnChanges
  }

  /// Returns the event with the version that a document has after the change.
  package func adding(version: Int) -> Event {
    var (event, detail) = (self, detail.object ?? JSONObject())
    detail["version"] = .number(JSONNumber(version))
    event.detail = .object(detail)
    return event
  }

  /// Sends the insert of the event in the transaction of the action.
  ///
  /// Events about one row are published in this order if its statement was sent before.
  /// - Parameters:
  ///   - transaction: the transaction.
  ///   - app: the app of the event; nil for the app of the request.
  ///   - principal: the actor; nil for the principal of the request. An event of another user names
  ///     no user and no session.
  @EventLoop package func record(
    in transaction: Transaction, app: AppID? = nil, by principal: Principal? = nil
  ) {
    let context = transaction.context
    let app = app ?? context.app.id
    if isOnlyPublished, let user {
      _ = transaction.send(
        EventQueries.queue, user, EventID(), app, place?.session, detail["what"]?.string ?? "",
        detail["version"]?.number?.int)
      context.wakePublisher()
      return
    }
    let isOfOther = context.principal.user != nil && user != nil && user != context.principal.user
    let principal = principal ?? (isOfOther ? .anyone : context.principal)
    let place = place ?? EventPlace(session: principal.session, device: principal.device)
    let isPublished = isPublished(in: app, context)
    context.dependencies.onAudit?(action)
    _ = transaction.send(
      isPublished ? EventQueries.publish : EventQueries.record, user?.text ?? app.text, EventID(),
      app, action, principal.name, place.session, place.device, context.address.text, context.agent,
      TextBytes(detail.serialized()), context.requestID
    )
  }

  /// Returns whether the event waits for its publication, and wakes the publisher after the commit.
  @EventLoop private func isPublished(in app: AppID, _ context: RequestContext) -> Bool {
    let known = app == context.app.id ? context.app : context.dependencies.appWithID(app)
    // An app that is not loaded may want it; the publisher knows.
    guard known?.events.all.isEmpty != true, app != .deployment,
      let type = EventType(action: action, detail), known?.events.all.contains(type) != false
    else { return false }
    context.wakePublisher()
    if case .sessions = EventType.sources[action] { return false }
    return true
  }

  /// Records an event in a transaction of its own.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func record(
    app: AppID? = nil, by principal: Principal? = nil, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { record(in: $0, app: app, by: principal) }
  }
}

extension Transaction {
  /// Sends the event of a user who has signed up, if the app publishes it.
  @EventLoop package func recordSignUp(of user: UserID) {
    Event(signUpOf: user, in: app)?.record(in: self, by: .user(of: app.id))
  }
}

package enum EventQueries {
  /// Inserts an event; the first parameter is the user, or the app for an event without one.
  package static let record = Statement<
    NoRow, String, EventID, AppID, String, String, SessionID?, DeviceID?, String?, String?,
    TextBytes, String?
  >(
    "events.record",
    """
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail,
      request_id)
    values ($1, $2, $3, $4, $5, $6, $7, $8::inet, $9, $10::jsonb, $11)
    """)

  /// Does as `record`, with an event that waits for its publication.
  ///
  /// The time is that of the statement, which runs after those that have locked the changed rows.
  package static let publish = Statement<
    NoRow, String, EventID, AppID, String, String, SessionID?, DeviceID?, String?, String?,
    TextBytes, String?
  >(
    "events.publish",
    """
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail,
      request_id, ordinal, pending)
    values ($1, $2, $3, $4, $5, $6, $7, $8::inet, $9, $10::jsonb, $11, \(.ordinal), true)
    """)

  /// Queues a change that is only published; the log does not keep it.
  ///
  /// - Parameter 5: the part of the data.
  /// - Parameter 6: the version of a document after the change.
  static let queue = Statement<NoRow, UserID, EventID, AppID, SessionID?, String, Int?>(
    "events.queue",
    """
    insert into unpublished_changes (user_id, event_id, app_id, ordinal, session_id, what, version)
    values ($1, $2, $3, \(.ordinal), $4, $5, $6)
    """)

  /// Removes the addresses of the events of a deleted user, or the events, by a setting of the app.
  package static let forget = Statement<NoRow, UserID>("events.forget", "select forget_events($1)")
}

extension SQL {
  /// The order of publication, in a statement that has locked what the event is about.
  package static let ordinal: SQL = "(extract(epoch from clock_timestamp()) * 1000000)::bigint"
}

/// The session and the device that an event concerns.
package struct EventPlace {
  package let session: SessionID?
  package let device: DeviceID?

  package init(session: SessionID?, device: DeviceID?) {
    self.session = session
    self.device = device
  }
}

extension RequestContext {
  /// Wakes the publisher of this worker after the commit.
  @EventLoop package func wakePublisher() {
    guard let wake = dependencies.onEvent else { return }
    afterWrite = { [earlier = afterWrite] in
      earlier?()
      wake()
    }
  }

  /// Runs a statement, and records an event of its result in the same transaction.
  ///
  /// - Parameters:
  ///   - action: the action of the event.
  ///   - statement: returns what it changed; nil if there is nothing to change.
  ///   - fact: returns the app of the event, and more facts.
  /// - Throws: `.notFound` if `statement` returns nil.
  package func act<Found>(
    _ action: String, _ statement: @EventLoop (Transaction) async throws(Failure) -> Found?,
    recording fact: @EventLoop (Found) -> (app: AppID, detail: JSON)
  ) async throws(Failure) {
    try await transaction { transaction async throws(Failure) in
      guard let found = try await statement(transaction) else { throw .notFound }
      let (app, detail) = fact(found)
      Event(action, detail: detail).record(in: transaction, app: app)
    }
  }
}

/// The events of deleted users that stay; the function `forget_events` of the database reads it.
enum DeletedUserEvents: String, CaseIterable {
  case withoutAddresses = "without_addresses"
  case none
}

/// The settings of events.
package struct EventSettings: RecordPart {
  /// Whether changes that users make to their own data are events.
  package let recordsOwnChanges: Bool
  /// Whether events are published, except for changes of data.
  package let hasFeed: Bool
  /// Further types that the feed has.
  let types: EventTypes
  /// Whether what verifiers of tokens must refuse is published.
  package let hasRevocations: Bool
  /// The time for which published events stay.
  package let feedRetention: Duration

  package init(_ read: inout RecordReader) {
    read.declare(
      "audit_retention_days", 1...36_500, 365,
      "days after which events are removed from the audit log"
    )
    _ = read.choice(
      "deleted_user_events", DeletedUserEvents.withoutAddresses, safe: .none,
      "what the audit log keeps of deleted users: their events without addresses, or none but the "
        + "deletion")
    recordsOwnChanges =
      read.number(
        "data_event_days",
        0...36_500,
        0,
        "days after which events of changes that users make to their own data are removed; 0 for no "
          + "such events"
      ) > 0
    hasFeed = read.flag(
      "event_feed", false, safe: false,
      "whether back ends read events of users and sessions at GET /v1/events"
    )
    let more: Set<EventType> = read.choices(
      "event_types", "further types of events that event_feed publishes, such as changes of data"
    )
    types = EventTypes(more)
    hasRevocations = read.flag(
      "revocation_feed", false, safe: true,
      "whether services that verify access tokens read what to refuse at GET /v1/revocations"
    )
    feedRetention = read.duration(
      "event_feed_days", .days, 1...90, 30, "days after which published events are removed"
    )
  }
}

extension App {
  package var eventSettings: EventSettings { settings[EventSettings.self] }
}
