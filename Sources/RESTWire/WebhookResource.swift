import Declarations
import Encoding
import EventLoop
import Events
import HTTP
import JSON
import Records
import Representations
import Runtime
import Tenancy
import Webhooks
import WireKit

/// `/v1/webhooks`, for the operator and administrators, beside the routes of each record.
///
/// Only those who may change a webhook see what its receiver answers.
@EventLoop enum WebhookResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/webhooks/{webhook}/status", access: .operator, gives: [.ok(status)],
      refuses: [.notFound], summary: "Read the state, the delay and the last failure of a webhook"
    ) { (call) async throws(Failure) in
      let webhook = try await webhook(call)
      let status = try await Webhooks.status(of: webhook, call.context)
      return Response(.ok, json: json(status, of: webhook).serialized())
    }.needing(.admin),
    Operation(
      .post, "/v1/webhooks/{webhook}/secret", access: .operator, gives: [.ok(WebhookRecord.made)],
      refuses: [.notFound],
      summary: "Replace the key of a webhook; the key before signs too for 24 hours"
    ) { (call) async throws(Failure) in
      let app = try call.namedApp.id
      let changed = try await WebhookRecord.rotateSecret(
        of: call.text("webhook").lowercased(), in: app, call.context)
      return RecordResource<WebhookRecord>.response(.ok, changed)
    }.needing(.admin, stepUp: true),
    Operation(
      .post, "/v1/webhooks/{webhook}/test", access: .operator, gives: [.ok(result)],
      refuses: [.notFound],
      summary: "Send an event of the type webhook.test, and wait for the answer"
    ) { (call) async throws(Failure) in
      let result = try await Webhooks.test(try await webhook(call), call.context)
      return Response(.ok, json: json(result).serialized())
    },
    Operation(
      .get, "/v1/webhooks/{webhook}/deliveries", access: .operator,
      takes: .query(.stateOfDelivery, .limit, .deliveryCursor),
      gives: [.ok(.list(of: delivery, atMost: PageLimit.most))], refuses: [.notFound],
      summary: "List the deliveries of a webhook, the newest first"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query, known: ["state"])
      let state = query["state"].map { Webhooks.State(rawValue: $0) }
      if case .some(nil) = state {
        let rule = "state must be waiting, delivered or failed."
        throw .invalid([FieldError(ofParameter: "state", "state", rule)])
      }
      let page = try await Webhooks.deliveries(
        of: webhook(call), in: state ?? nil, after: query.cursor(), count: query.limit,
        call.context)
      return query.response(page, call, \.json)
    }.needing(.admin),
    Operation(
      .post, "/v1/webhooks/{webhook}/deliveries/{delivery}/retry", access: .operator,
      gives: [.ok(delivery)], refuses: [.notFound],
      summary: "Send a delivery again now, with the same id of its event"
    ) { (call) async throws(Failure) in
      let found = try await Webhooks.retry(
        call.captured("delivery"), of: webhook(call), call.context)
      return Response(.ok, json: found.json.serialized())
    },
    Operation(
      .post, "/v1/webhooks/{webhook}/replay", access: .operator,
      takes: .body(.json(limit: 16_384), replay), gives: [.ok(replayed)],
      refuses: [.notFound, .cursorInvalid, .replayExpired, .unknownEventType],
      summary: "Send events again from a cursor or a time on, as new deliveries with the same ids"
    ) { (call, since, types) async throws(Failure) in
      let webhook = try await webhook(call)
      let start = try EventFeed.Start(since, of: webhook.app, call.context)
      var chosen: EventTypes?
      if let types { chosen = try EventTypes(named: types) }
      let replay = try await Webhooks.replay(
        from: start, types: chosen, to: webhook, call.context)
      let body: JSON = [
        "deliveries": .number(JSONNumber(replay.count)),
        "next": .string(replay.next.text(call.context)), "more": .bool(replay.hasMore),
      ]
      return Response(.ok, json: body.serialized())
    }.needing(stepUp: true),
  ]

  private static func webhook(_ call: Call) async throws(Failure) -> Webhook {
    try await Webhooks.find(call.text("webhook").lowercased(), of: call.namedApp, call.context)
  }

  // MARK: JSON

  private static func json(_ status: WebhookStatus?, of webhook: Webhook) -> JSON {
    let failures = status?.failures ?? 0
    let isFailing = failures >= WebhookSchedule.failuresOfFailing
    let notBefore = status?.notBefore.flatMap { $0.seconds < Timestamp.now.seconds ? nil : $0 }
    return [
      "state": .string(!webhook.isEnabled ? "disabled" : isFailing ? "failing" : "active"),
      "waiting": .number(JSONNumber(status?.waiting ?? 0)),
      "lag_seconds": .number(JSONNumber(status?.lag ?? 0)),
      "failures": .number(JSONNumber(failures)),
      "failing_since": JSON(status?.failingSince), "not_before": JSON(notBefore),
      "last_success_at": JSON(status?.lastSuccessAt),
      "last_failure_at": JSON(status?.lastFailureAt), "last_error": JSON(status?.lastError),
    ]
  }

  private static func json(_ result: WebhookCalls.Result) -> JSON {
    [
      "delivered": .bool(result.outcome == .delivered), "status": JSON.number(ifAny: result.status),
      "error": JSON(result.error), "answer": JSON(result.answer),
      "duration_ms": .number(JSONNumber(Int(result.duration.nanoseconds / 1_000_000))),
    ]
  }

  // MARK: Shapes

  private nonisolated static let replay = Fields(
    "WebhookReplay", "The events to send again.",
    .text(
      "since",
      .text.saying("a cursor of the feed, oldest, or a time of RFC 3339")
        .like(.string("oldest"))),
    .optional(
      Field<[String]>(
        "types", Shape.list(of: .text).saying("the types; without it, those of the webhook")
      ) { $0.strings($1) })
  ).like(["since": "oldest", "types": ["user.*"]])

  private nonisolated static let replayed = Shape.object([
    "deliveries": .count.saying("the new deliveries, at most 5,500").like(12),
    "next": .text.saying("the since of a replay that continues").like(
      "AAAAAAAAACrW0pVt5x7oF9kNfQ8"),
    "more": .flag.saying("whether there are further events").like(false),
  ]).named("WebhookReplayResult", "How much of a replay waits now.")

  private nonisolated static let status = Shape.object([
    "state": .choice(["active", "failing", "disabled"])
      .saying("failing: only one delivery tries the receiver, all others wait").like("active"),
    "waiting": .count.saying("the deliveries that wait, at most 10,000").like(0),
    "lag_seconds": .count.saying("the age of the oldest event that waits, or has no delivery yet")
      .like(0),
    "failures": .count.saying("the failed attempts since the last success").like(0),
    "failing_since": .time.orNull.saying("the first of these; null without one"),
    "not_before": .time.orNull.saying("no attempt begins before it; null for now"),
    "last_success_at": .time(Example.played).orNull.saying("about when a delivery was accepted"),
    "last_failure_at": .time.orNull.saying("when an attempt failed"),
    "last_error": .text.orNull.saying("the failure").like("status 503"),
  ]).named("WebhookStatus", "How the receiver of a webhook answers.")

  private nonisolated static let error = Shape.choice([
    "status", "timed_out", "unreachable", "untrusted_certificate", "address_not_allowed",
    "invalid_url", "answer_too_large", "overloaded",
  ]).orNull.saying("the failure; null without one")
  private nonisolated static let answer = Shape.text.orNull
    .saying("the first 512 bytes of the answer; null without one").like("ok")

  private nonisolated static let result = Shape.object([
    "delivered": .flag.saying("whether the receiver has accepted it").like(true),
    "status": .integer.orNull.saying("the status of the answer; null without one").like(200),
    "error": error.like(.null), "answer": answer,
    "duration_ms": .count.saying("the time of the call").like(42),
  ]).named("WebhookTest", "The answer to a test of a webhook.")

  private nonisolated static let delivery = Shape.object([
    "id": .id(Example.delivery),
    "event": .text(pattern: "^evt_[0-9a-f]{24}$").saying("the id of the event")
      .like(.string("evt_\(Example.event)")),
    "type": .text.saying("the type of the event").like("user.created"),
    "timestamp": .time(Example.registered).saying("when it happened"),
    "state": .choice(Webhooks.State.allCases.map(\.rawValue)).like("delivered"),
    "attempts": .count.saying("the attempts so far").like(1),
    "next_attempt_at": .time.orNull.saying("when it is sent again; null if it has ended"),
    "attempted_at": .time(Example.registered).orNull.saying("when the last attempt began"),
    "ended_at": .time(Example.registered).orNull.saying("when it was delivered, or has failed"),
    "status": .integer.orNull.saying("the status of the last answer").like(200),
    "error": error.like(.null), "answer": answer,
    "duration_ms": .count.orNull.saying("the time of the last attempt").like(42),
  ]).named("WebhookDelivery", "An event for a webhook, with the result of the last attempt.")
}

extension JSON {
  fileprivate static func number(ifAny number: Int?) -> JSON {
    number.map { .number(JSONNumber($0)) } ?? .null
  }
}

extension ListedDelivery {
  fileprivate var json: JSON {
    [
      "id": .string(id.text), "event": .string("evt_\(event)"), "type": .string(type),
      "timestamp": .string(at.text), "state": .string(state),
      "attempts": .number(JSONNumber(attempts)), "next_attempt_at": JSON(dueAt),
      "attempted_at": JSON(attemptedAt), "ended_at": JSON(endedAt),
      "status": JSON.number(ifAny: status),
      "error": JSON(error), "answer": JSON(answer), "duration_ms": JSON.number(ifAny: milliseconds),
    ]
  }
}

extension QueryParameter {
  fileprivate static let stateOfDelivery = QueryParameter(
    name: "state", says: "only deliveries in this state",
    shape: .choice(Webhooks.State.allCases.map(\.rawValue)), component: "state_of_delivery")
  fileprivate static let deliveryCursor = QueryParameter(
    name: cursor.name, says: cursor.says, shape: .id(Example.delivery),
    component: "delivery_cursor")
}

extension EventFeed.Start {
  /// Reads the start of a page of a feed.
  ///
  /// - Throws: `.cursorInvalid` if the text names no start.
  @EventLoop init(_ text: String, of feed: String, _ context: RequestContext) throws(Failure) {
    if text == "now" {
      self = .now
    } else if text == "oldest" {
      self = .oldest
    } else if let cursor = EventCursor(text, of: feed, context) {
      self = .cursor(cursor)
    } else if let time = CalendarTime(text) {
      self = .time(Timestamp(microseconds: time.seconds * 1_000_000 + time.nanoseconds / 1_000))
    } else {
      throw .cursorInvalid
    }
  }
}
