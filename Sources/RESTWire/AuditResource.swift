import Administration
import Declarations
import Encoding
import Outbound
import Representations
import Runtime
import Tenancy
import Transfer
import EventLoop
import HTTP
import JSON
import Events
import WireKit

/// `/v1/audit`, for the operator: the events of all apps.
@EventLoop enum AuditResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/audit", access: .operator,
      takes: .query(
        .app, .action, .actor, .userOfEvents, .session, .request, .network, .from, .to, .order,
        .limit, .cursor
      ),
      gives: [.ok(.eventsOfApps)], refuses: [.searchTooSlow],
      summary: "Read the audit log of all apps and the deployment, or of one app, newest first"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query, known: ["app", "order"] + filters)
      let app = try await record(query["app"], call)
      let order: AuditOrder = try query.choice("order") ?? .newest
      let filter = try filter(query)
      let page = try await Audit.page(
        matching: filter, of: app?.id, in: order, after: query.cursor(),
        count: query.limit, call.context
      )
      if let user = filter.user {
        try await Audit.recordView(of: .history, of: user, in: app?.id, call.context)
      }
      let names = try await AuditNames.read(of: page.items, call.context)
      let principal = call.context.principal
      return query.response(page, call) { $0.shown(to: principal).json(with: names) }
    },
    Operation(
      .get, "/v1/audit/export", access: .operator,
      takes: .query(
        .format, .app, .action, .actor, .userOfEvents, .session, .request, .network, .from, .to,
        .order, .cursor
      ),
      gives: [
        Answer(
          status: .ok, says: "A file with at most \(mostInFile) events.", shape: nil,
          types: [.ndjson, .csv], fields: [.link])
      ],
      refuses: [.searchTooSlow, .tooManyRequests],
      summary: "Export the events of the audit log that match a filter, as NDJSON or CSV", export
    ).needing(.admin, stepUp: true),
  ]

  /// The most events in a file, whose `Link` leads to the next ones.
  private nonisolated static let mostInFile = 50_000

  private static func export(_ call: Call) async throws(Failure) -> Response {
    let query = try ListQuery(call.request.query, known: ["format", "app", "order"] + filters)
    let app = try await record(query["app"], call)
    let order: AuditOrder = try query.choice("order") ?? .newest
    let format: AuditFormat = try query.choice("format") ?? .ndjson
    let filter = try filter(query)
    var cursor: EventID? = try query.cursor()
    try await Jobs.countExport(call.context)
    var file = AuditFile(format)
    var count = 0
    repeat {
      let page = try await Audit.page(
        matching: filter, of: app?.id, in: order, after: cursor,
        count: min(PageLimit.most, mostInFile - count), call.context)
      for event in page.items { file.append(event.shown(to: call.context.principal)) }
      (count, cursor) = (count + page.items.count, page.next)
    } while cursor != nil && count < mostInFile
    var conditions = JSONObject()
    for name in filters { conditions[name] = query[name].map(JSON.string) }
    try await Audit.recordExport(
      of: app?.id,
      [
        "filter": .object(conditions), "count": .number(JSONNumber(count)),
        "format": .string(format.rawValue),
      ],
      call.context)
    var response = Response(.ok)
    response.body = file.bytes
    response.add(.contentType, format.type.rawValue)
    response.add(.contentDisposition, "attachment; filename=\"audit.\(format.rawValue)\"")
    response.add(.cacheControl, literal: "no-store")
    if let cursor { response.add(.link, query.link(to: cursor.text, call)) }
    return response
  }

  private nonisolated static let filters = [
    "action", "actor", "user", "session", "request", "network", "from", "to",
  ]

  /// Returns the conditions of a query.
  ///
  /// Throws `.invalid` with all errors.
  private static func filter(_ query: ListQuery) throws(Failure) -> AuditFilter {
    var faults: [FieldError] = []
    func read<Value>(_ name: String, _ rule: String, _ parse: (String) -> Value?) -> Value? {
      guard let text = query[name] else { return nil }
      let value = parse(text)
      if value == nil {
        faults.append(FieldError(ofParameter: name, name, "\(name) must be \(rule)."))
      }
      return value
    }
    let time = "a time or a day of RFC 3339, such as 2026-01-31 or 2026-01-31T12:00:00Z"
    var filter = AuditFilter()
    filter.action = read("action", "an action, or the start of one and *", ActionPattern.init)
    filter.actor = read("actor", "the actor of an event, at most 100 bytes", ActorPattern.init)
    filter.user = read("user", "the id of a user") { UserID($0) }
    filter.session = read("session", "the id of a session") { SessionID($0) }
    filter.request = read("request", "the id of a request") {
      RequestID.isValid($0) ? $0 : nil
    }
    filter.network = read("network", "an IP address or a network such as 198.51.100.0/24") {
      IPNetwork($0)
    }
    filter.from = read("from", time) { CalendarTime($0)?.seconds }
    filter.to = read("to", time) { text in
      // A day is included up to its last second.
      CalendarTime(text).map { $0.seconds + ($0.zone == nil ? 86_399 : 0) }
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    return filter
  }

  /// Returns the app that the query of a list names; nil if it names none.
  ///
  /// - Throws: `.unknownApp`, `.invalid`, `.databaseUnavailable`.
  static func app(in call: Call) async throws(Failure) -> AppRecord? {
    let query = try ListQuery.parameters(of: call.request.query)
    if let other = query.names.first(where: { !$0.hasSameBytes(as: "app") }) {
      throw .invalid([FieldError(ofParameter: other, "query", "The query may have only app.")])
    }
    return try await record(query["app"], call)
  }

  static func record(_ name: String?, _ call: Call) async throws(Failure) -> AppRecord? {
    let named = if let name { name } else { try call.onlyApp?.name }
    guard let named else { return nil }
    let app = try await Apps.record(of: named, call.context)
    try call.requireAccess(to: app.id)
    return app
  }
}

extension AuditEntry {
  /// The event with its app and its user.
  var jsonWithUser: JSON {
    var members = json.object ?? JSONObject()
    members["app"] = JSON(app)
    members["user_id"] = JSON(user?.text)
    return .object(members)
  }

  /// The event with its app, its user, and the names of its actor and user.
  func json(with names: AuditNames) -> JSON {
    var members = jsonWithUser.object ?? JSONObject()
    members["actor_name"] = JSON(names.name(ofActor: actor))
    members["user_name"] = JSON(user.flatMap(names.name(of:)))
    return .object(members)
  }
}

extension QueryParameter {
  fileprivate static let format = QueryParameter(
    name: "format", says: "the format of the file; by default ndjson, one event a line",
    shape: .choice(AuditFormat.allCases.map(\.rawValue)).named(
      "EventFormat", "A format of events."),
    component: "event_format")
  fileprivate static let action = QueryParameter(
    name: "action", says: "only events with this action; with * at its end, with this start",
    shape: .text.like("login*"))
  fileprivate static let actor = QueryParameter(
    name: "actor",
    says: "only events of this actor, such as user, operator:NAME or client:ID. operator, "
      + "administrator and client mean all of their kind",
    shape: .text.like("user"))
  fileprivate static let userOfEvents = QueryParameter(
    name: "user", says: "only events of this user", shape: .id(Example.ada),
    component: "user_of_events")
  fileprivate static let session = QueryParameter(
    name: "session", says: "only events of this session", shape: .id(Example.session))
  fileprivate static let request = QueryParameter(
    name: "request", says: "only events of the request with this X-Request-Id",
    shape: .text.like("4k0dq2v9m7xa1"), component: "request_of_events")
  fileprivate static let network = QueryParameter(
    name: "network",
    says: "only events of callers in this network. With session, request, network, or several of "
      + "action, actor and user, a page reads at most 100,000 events; its Link continues where it stopped",
    shape: .text.like("203.0.113.0/24"))
  fileprivate static let from = QueryParameter(
    name: "from", says: "only events from this time or day on", shape: .text.like("2026-01-31"),
    component: "first_time")
  fileprivate static let to = QueryParameter(
    name: "to", says: "only events up to this time or day, included",
    shape: .text.like("2026-02-01T08:30:00Z"))
  fileprivate static let order = QueryParameter(
    name: "order", says: "which events come first; by default the newest",
    shape: .choice(AuditOrder.allCases.map(\.rawValue)).named("EventOrder", "An order of events."),
    component: "event_order")
}
