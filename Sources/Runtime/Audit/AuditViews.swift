import Encoding
import EventLoop
import Glibc
package import JSON
import Postgres

/// The parts of a user's data that are events when an administrator reads them.
package enum ViewedPart: String, Sendable, CaseIterable {
  /// Documents and properties, with their versions.
  case documents
  /// Identities and passkeys.
  case identities
  /// Sessions and devices.
  case sessions
  case history
}

/// The events of what administrators read.
extension Audit {
  /// Records that an administrator has read a part of a user's data, once an hour.
  ///
  /// Other principals read without an event.
  /// - Parameters:
  ///   - part: the part.
  ///   - user: the user.
  ///   - app: the app of the user; nil for the app of the request.
  ///   - context: the context of the request.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func recordView(
    of part: ViewedPart, of user: UserID, in app: AppID? = nil, _ context: RequestContext
  ) async throws(Failure) {
    try await recordHourly(
      "user_view", user.text, app ?? context.app.id, ["part": .string(part.rawValue)], context)
  }

  /// Records the members by which an administrator has searched users, once an hour.
  ///
  /// The values may be personal, and are not recorded.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func recordSearch(
    by members: [String], _ context: RequestContext
  ) async throws(Failure) {
    let names = Set(members).sorted().map(JSON.string)
    let app = context.app.id
    try await recordHourly("user_search", app.text, app, ["members": .array(names)], context)
  }

  /// Records an export of events.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func recordExport(
    of app: AppID?, _ detail: JSON, _ context: RequestContext
  ) async throws(Failure) {
    try await Event("audit_export", detail: detail).record(app: app ?? .deployment, context)
  }

  /// Records an export of users as a table, with the members of its filter.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func recordExport(
    ofUsers count: Int, by members: [String], _ context: RequestContext
  ) async throws(Failure) {
    let detail: JSON = [
      "count": .number(JSONNumber(count)), "format": "csv",
      "members": .array(JSONArray(Set(members).sorted().map(JSON.string))),
    ]
    try await Event("users_export", detail: detail).record(app: context.app.id, context)
  }

  /// Records an event, unless the same administrator has a like one in this hour.
  ///
  /// The id begins with the current second, as each id, so that lists have the event in its place. The
  /// rest of the id is derived from the event. So an insert at the same moment adds nothing.
  @EventLoop private static func recordHourly(
    _ action: String, _ subject: String, _ app: AppID, _ detail: JSON, _ context: RequestContext
  ) async throws(Failure) {
    guard context.principal.administrator != nil else { return }
    let actor = context.principal.name
    let now = time(nil)
    let hour = now - now % 3_600
    let text = "\(action)\0\(subject)\0\(app)\0\(actor)\0\(hour)\0\(detail.text)"
    let mark = context.keys.master.mark(of: Array(text.utf8), by: 0)
    let rest = String(hexadecimal: Array(mark.prefix(8)))
    let known = try await context.read(
      EventQueries.recorded, subject, app, actor, AuditComposer.start(of: hour), rest)
    guard known.isEmpty else { return }
    _ = try await context.write(
      EventQueries.recordOnce, subject, EventID(trusted: AuditComposer.start(of: now) + rest), app,
      action, actor, context.address.text, context.agent, TextBytes(detail.serialized()),
      context.requestID)
  }
}

extension EventQueries {
  /// Returns a row if an actor has an event since a second, whose id has this end.
  ///
  /// Served by `audit_by_other_actor`, or by the primary key.
  static let recorded = Statement<EventID, String, AppID, String, String, String>(
    "events.recorded",
    """
    select event_id from audit
    where user_id = $1 and app_id = $2 and actor = $3 and event_id >= $4
      and right(event_id, 16) = $5 and actor <> 'user'
    limit 1
    """)

  /// Inserts an event without a session, unless there is one with its id.
  static let recordOnce = Statement<
    NoRow, String, EventID, AppID, String, String, String?, String?, TextBytes, String?
  >(
    "events.record_once",
    """
    insert into audit (
      user_id, event_id, app_id, action, actor, address, agent, detail, request_id)
    values ($1, $2, $3, $4, $5, $6::inet, $7, $8::jsonb, $9)
    on conflict (user_id, event_id) do nothing
    """)
}
