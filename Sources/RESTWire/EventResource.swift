import Declarations
import EventLoop
import Events
import HTTP
import JSON
import Runtime
import Streams
import WireKit

/// `/v1/events` and `/v1/revocations`, for back ends: what has happened in their app.
@EventLoop enum EventResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/events", access: .client(scope: Scopes.readEvents),
      takes: .query(.since, .types, .userOfFeed, .pageOfEvents),
      gives: [.ok(.feed, fields: [.retryAfter])],
      refuses: [.invalid, .cursorInvalid, .cursorExpired, .feedDisabled],
      summary: "Read the events of an app after a cursor, in their order", events
    ),
    Operation(
      .get, "/v1/events/stream", access: .client(scope: Scopes.readEvents),
      takes: .query(.since, .types, .userOfFeed),
      gives: [
        Answer(
          status: .ok,
          says: "Server-sent events. ready comes first. event has an event, as events of "
            + "/v1/events. The id of both is the cursor after it. After reconnect the client "
            + "connects again; so it does each minute. end has the reason cursor_expired: the "
            + "events after the cursor were removed.",
          shape: nil, types: [.eventStream])
      ],
      refuses: [.invalid, .cursorInvalid, .cursorExpired, .feedDisabled],
      summary: "Receive the events of an app as they happen, as a stream", stream
    ),
    Operation(
      .get, "/v1/revocations", access: .client(scope: Scopes.readRevocations),
      takes: .query(.sinceOfRevocations, .pageOfEvents), versions: .read,
      gives: [.ok(.revocations, fields: [.retryAfter])],
      refuses: [.invalid, .cursorInvalid, .cursorExpired, .feedDisabled],
      summary: "Read the sessions, users and keys whose tokens verifiers must refuse", revocations
    ),
  ]

  /// The seconds until the next poll, if there are no further events.
  private static let pause = "5"
  /// Those of the revocation feed, so that a verifier refuses an ended session within 2 seconds.
  private static let pauseOfRevocations = "1"

  private static func events(_ call: Call) async throws(Failure) -> Response {
    let app = call.context.app
    guard app.eventSettings.hasFeed else { throw .feedDisabled }
    let query = try FeedQuery(call, of: app.id.text, knows: ["types", "user"])
    let page = try await EventFeed.page(
      of: app.id.text, from: query.start, query.filter, count: query.limit, call.context)
    var body = JSONWriter()
    body.beginObject()
    body.key("events")
    body.beginArray()
    for event in page.events { FeedMessage(event).write(to: &body) }
    body.endArray()
    return response(page, body, call)
  }

  private static func stream(_ call: Call) async throws(Failure) -> Response {
    let app = call.context.app
    guard app.eventSettings.hasFeed else { throw .feedDisabled }
    let query = try FeedQuery(call, of: app.id.text, knows: ["types", "user"], isPaged: false)
    let start = try await EventFeed.position(of: query.start, in: app.id.text, call.context)
    let subject = StreamTicket.FeedSubject(
      feed: app.id.text, position: start.since, types: query.filter.types, user: query.filter.user)
    return try Response(handingOver: StreamTicket(.feed(subject)), call.context)
  }

  private static func revocations(_ call: Call) async throws(Failure) -> Response {
    let app = call.context.app
    guard app.events.hasRevocations else { throw .feedDisabled }
    let feed = EventFeed.revocations(of: app.id)
    var query = try FeedQuery(call, of: feed)
    query.filter.validAt = Timestamp.now.seconds
    let page = try await EventFeed.page(
      of: feed, from: query.start, query.filter, count: query.limit, call.context)
    var body = JSONWriter()
    body.beginObject()
    body.key("revocations")
    body.beginArray()
    for event in page.events { body.word(String(decoding: event.data, as: UTF8.self)) }
    body.endArray()
    var response = response(page, body, call, pause: pauseOfRevocations)
    response.add(.entityTag, EntityTag(page.next.position).description)
    return response
  }

  private static func response(
    _ page: EventFeed.Page, _ body: JSONWriter, _ call: Call, pause: String = pause
  ) -> Response {
    var body = body
    body.member("next", page.next.text(call.context))
    body.key("more")
    body.word(page.hasMore ? "true" : "false")
    body.endObject()
    var response = Response(.ok, json: body.bytes)
    response.add(.retryAfter, page.hasMore ? "0" : pause)
    return response
  }
}

/// The query of a feed.
struct FeedQuery {
  private(set) var start = EventFeed.Start.oldest
  var filter = EventFeed.Filter()
  private(set) var limit = 500

  /// - Parameters:
  ///   - call: the request.
  ///   - feed: the id of the feed.
  ///   - names: the parameters that it has beside `since` and `limit`.
  ///   - isPaged: whether it has `limit`.
  /// - Throws: `.invalid` with all errors, `.cursorInvalid`.
  @EventLoop init(
    _ call: Call, of feed: String, knows names: [String] = [], isPaged: Bool = true
  ) throws(Failure) {
    let query = try ListQuery.parameters(of: call.request.query)
    let all = ["since"] + (isPaged ? ["limit"] : []) + names
    var faults = query.names.filter { !all.contains($0) }.map { name in
      FieldError(
        ofParameter: name, "query", "The query may have only \(all.joined(separator: ", ")).")
    }
    if isPaged, let text = query["limit"] {
      limit = Int(text) ?? 0
      if !(1...EventFeed.most).contains(limit) {
        let rule = "limit must be a number from 1 to \(EventFeed.most)."
        faults.append(FieldError(ofParameter: "limit", "limit", rule))
      }
    }
    if let text = query["types"] {
      filter.types = EventTypes(matching: text)
      if filter.types == nil {
        let rule = "types must be a list with commas of types such as user.created, or user.*."
        faults.append(FieldError(ofParameter: "types", "types", rule))
      }
    }
    if let text = query["user"] {
      filter.user = UserID(text)
      if filter.user == nil {
        faults.append(FieldError(ofParameter: "user", "user", "user must be the id of a user."))
      }
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    if let text = query["since"] {
      start = try EventFeed.Start(text, of: feed, call.context)
    }
  }
}

extension QueryParameter {
  private static let places =
    "the next of the page before, which continues after it; now, oldest or a time of RFC 3339. "
    + "Without it, the oldest event"
  fileprivate static let since = QueryParameter(
    name: "since", says: places, shape: .text.like(Example.feedCursor))
  fileprivate static let sinceOfRevocations = QueryParameter(
    name: "since",
    says: "the next of the page before. Without it, all that must be refused now",
    shape: .text.like(Example.feedCursor), component: "since_of_revocations")
  fileprivate static let types = QueryParameter(
    name: "types", says: "only events of these types, with commas between them; user.* is a group",
    shape: .text.like("user.*,session.ended"))
  fileprivate static let userOfFeed = QueryParameter(
    name: "user", says: "only events of this user", shape: .id(Example.ada),
    component: "user_of_feed")
  fileprivate static let pageOfEvents = QueryParameter(
    name: "limit", says: "the maximum number of entries in the page; 500 without it",
    shape: .integer(1...EventFeed.most), component: "limit_of_feed")
}

extension Example {
  fileprivate static let feedCursor: JSON = "AAAAAAAAACrW0pVt5x7oF9kNfQ8"
}

extension Shape {
  fileprivate static let feed = Shape.object([
    "events": .list(of: event, atMost: EventFeed.most).saying("the events, in their order"),
    "next": cursor, "more": more,
  ]).named("EventPage", "A page of the event feed.")

  private static let event = Shape.object([
    "id": .text(pattern: "^evt_[0-9a-f]{24}$")
      .saying("the same each time that the event is delivered")
      .like(.string("evt_\(Example.event)")),
    "type": .choice(EventType.allCases.map(\.rawValue)).named("EventType", "A type of events."),
    "timestamp": .time(Example.registered).saying("when it happened"),
    "data": .map(of: .any).saying("ids, a version, a reason and the actor; never values of users")
      .like(["app": "default", "user_id": .string(Example.ada), "actor": "user"]),
  ]).named("PublishedEvent", "An event of the feed.")

  private static let cursor = Shape.text
    .saying("the cursor after this page, also if the page is empty").like(Example.feedCursor)
  private static let more = Shape.flag.saying("whether there are further events now").like(false)

  fileprivate static let revocations = Shape.object([
    "revocations": .list(of: revocation, atMost: EventFeed.most)
      .saying("what verifiers must refuse, in the order of its publication"),
    "next": cursor, "more": more,
  ]).named("RevocationPage", "A page of tokens that verifiers must refuse.")

  private static let revocation = Shape.object(
    [:],
    optional: [
      "sid": .id(Example.session).saying("tokens of this session"),
      "sub": .id(Example.ada).saying("tokens of this user, issued before `before`"),
      "before": .integer.saying("seconds since 1970").like(1_769_934_601),
      "kid": .id(Example.signingKey).saying("tokens that this key has signed"),
      "until": .integer.saying("seconds since 1970, after which the item may be forgotten")
        .like(1_769_936_400),
    ]
  ).named("Revocation", "Tokens that verifiers must refuse.")
}
