import Declarations
import EventLoop
import HTTP
import JSON
import LogStreams
import Records
import Representations
import Runtime
import WireKit

/// `/v1/log-streams`, for the operator and administrators, beside the routes of each record.
@EventLoop enum LogStreamResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/log-streams/{log_stream}/status", access: .operator, gives: [.ok(status)],
      refuses: [.notFound],
      summary: "Read the state, the delay and the last failure of a log stream"
    ) { (call) async throws(Failure) in
      let stream = try await stream(call)
      let found = try await LogStreams.status(of: stream, call.context)
      let body = json(found?.status, lag: found?.lag ?? .zero, of: stream)
      return Response(.ok, json: body.serialized())
    }.needing(.admin),
    Operation(
      .post, "/v1/log-streams/{log_stream}/test", access: .operator, gives: [.ok(result)],
      refuses: [.notFound],
      summary: "Send an event of the type log_stream.test, and wait for the result"
    ) { (call) async throws(Failure) in
      let result = await LogStreams.test(try await stream(call), call.context)
      return Response(.ok, json: json(result).serialized())
    },
  ]

  private static func stream(_ call: Call) async throws(Failure) -> LogStream {
    try await LogStreams.find(call.text("log_stream").lowercased(), of: call.namedApp, call.context)
  }

  // MARK: JSON

  private static func json(
    _ status: LogStreamStatus?, lag: Duration, of stream: LogStream
  ) -> JSON {
    let isFailing = status?.failures ?? 0 > 0
    let notBefore = status?.notBefore.flatMap { $0.seconds < Timestamp.now.seconds ? nil : $0 }
    return [
      "state": .string(!stream.isEnabled ? "disabled" : isFailing ? "failing" : "active"),
      "lag_seconds": .number(JSONNumber(lag.wholeSeconds)),
      "failures": .number(JSONNumber(status?.failures ?? 0)),
      "failing_since": JSON(status?.failingSince), "not_before": JSON(notBefore),
      "last_success_at": JSON(status?.lastSuccessAt),
      "last_failure_at": JSON(status?.lastFailureAt), "last_error": JSON(status?.lastError),
      "lost_events": .number(JSONNumber(status?.lost ?? 0)), "lost_at": JSON(status?.lostAt),
    ]
  }

  private static func json(_ result: LogStreamSender.Result) -> JSON {
    [
      "delivered": .bool(result.error == nil),
      "status": result.status.map { .number(JSONNumber($0)) } ?? .null,
      "error": JSON(result.error),
      "duration_ms": .number(JSONNumber(Int(result.duration.nanoseconds / 1_000_000))),
    ]
  }

  // MARK: Shapes

  private nonisolated static let status = Shape.object([
    "state": .choice(["active", "failing", "disabled"])
      .saying("failing: the last batch was not accepted; the next attempt is a minute later")
      .like("active"),
    "lag_seconds": .count.saying("the age of the oldest event that was not sent").like(0),
    "failures": .count.saying("the failed attempts since the last success").like(0),
    "failing_since": .time.orNull.saying("the first of these; null without one"),
    "not_before": .time.orNull.saying("no attempt begins before it; null for now"),
    "last_success_at": .time(Example.played).orNull.saying("when events were accepted"),
    "last_failure_at": .time.orNull.saying("when an attempt failed"),
    "last_error": .text.orNull.saying("the failure").like("status 503"),
    "lost_events": .count.saying("events that the feed removed before they were sent").like(0),
    "lost_at": .time.orNull.saying("when the loss was noticed; null without one"),
  ]).named("LogStreamStatus", "How far a log stream is, and how its log system answers.")

  private nonisolated static let result = Shape.object([
    "delivered": .flag.saying("whether the log system has accepted it").like(true),
    "status": .integer.orNull.saying("the status of the answer; null without one").like(200),
    "error": Shape.choice([
      "status", "timed_out", "unreachable", "untrusted_certificate", "address_not_allowed",
      "invalid_url", "answer_too_large", "overloaded", "unreadable_header", "message_too_large",
      "log_not_writable", "no_log",
    ]).orNull.saying("the failure; null without one").like(.null),
    "duration_ms": .count.saying("the time of the attempt").like(42),
  ]).named("LogStreamTest", "The result of a test of a log stream.")
}
