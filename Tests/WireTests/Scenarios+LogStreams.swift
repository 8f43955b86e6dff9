import EventLoop
import HTTP

extension Scenario {
  /// The scenarios of log streams, which have no log here.
  static let logStreams = [
    Scenario("GET /v1/log-streams", 200, stream), Scenario("POST /v1/log-streams", 201, file),
    Scenario("GET /v1/log-streams/{log_stream}", 200, stream),
    Scenario(
      "PATCH /v1/log-streams/{log_stream}", 200, #"{"enabled":false}"#, as: .mergePatch, stream),
    Scenario("GET /v1/log-streams/{log_stream}/status", 200, stream),
    Scenario("POST /v1/log-streams/{log_stream}/test", 200, stream),
    Scenario("DELETE /v1/log-streams/{log_stream}", 204, stream),
  ]

  private static let file = #"{"name":"lines","kind":"file"}"#

  /// Creates a log stream.
  private static let stream: Preparation = {
    let made = try await $0.expect(201, $0.asOperator(.post, "/v1/log-streams", file))
    return ["log_stream": try made.string("id")]
  }
}
