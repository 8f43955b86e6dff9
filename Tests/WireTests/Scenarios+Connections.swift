import EventLoop
import HTTP

extension Scenario {
  /// The scenarios of connections, to a service that cannot be reached.
  static let connections = [
    Scenario("GET /v1/connections/public", 200, upstream),
    Scenario("POST /v1/login/connection", 404, #"{"connection":"absent","code":"c-1"}"#, upstream),
    Scenario("GET /v1/connections", 200),
    Scenario("POST /v1/connections", 201, body),
    Scenario("GET /v1/connections/{connection}", 200, upstream),
    Scenario(
      "PATCH /v1/connections/{connection}", 200, #"{"label":"Acme"}"#, as: .mergePatch, upstream),
    Scenario("POST /v1/connections/{connection}/check", 200, upstream),
    Scenario("DELETE /v1/connections/{connection}", 204, upstream),
  ]

  private static let body = """
    {"name":"upstream","issuer":"https://127.0.0.1:1","client_id":"app"}
    """

  /// Adds the connection.
  private static let upstream: Preparation = {
    try await $0.expect(201, $0.asOperator(.post, "/v1/connections", body))
    return ["connection": "upstream"]
  }
}
