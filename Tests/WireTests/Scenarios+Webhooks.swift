import EventLoop
import HTTP

extension Scenario {
  /// The scenarios of webhooks, with a receiver that cannot be reached.
  static let webhooks = [
    Scenario("GET /v1/webhooks", 200, webhook), Scenario("POST /v1/webhooks", 201, receiver),
    Scenario("GET /v1/webhooks/{webhook}", 200, webhook),
    Scenario(
      "PATCH /v1/webhooks/{webhook}", 200, #"{"enabled":false}"#, as: .mergePatch, webhook),
    Scenario("GET /v1/webhooks/{webhook}/status", 200, webhook),
    Scenario("POST /v1/webhooks/{webhook}/secret", 200, webhook),
    Scenario("POST /v1/webhooks/{webhook}/test", 200, webhook),
    Scenario("GET /v1/webhooks/{webhook}/deliveries", 200, delivery),
    Scenario("POST /v1/webhooks/{webhook}/deliveries/{delivery}/retry", 200, delivery),
    Scenario("POST /v1/webhooks/{webhook}/replay", 200, #"{"since":"oldest"}"#, webhook),
    Scenario("DELETE /v1/webhooks/{webhook}", 204, webhook),
  ]

  private static let receiver = #"{"url":"https://hooks.invalid/","types":["user.*"]}"#

  /// Creates a webhook.
  private static let webhook: Preparation = {
    let made = try await $0.expect(201, $0.asOperator(.post, "/v1/webhooks", receiver))
    return ["webhook": try made.string("id")]
  }

  /// Creates a webhook with a delivery that has failed.
  private static let delivery: Preparation = {
    let ids = try await webhook($0)
    let delivery = String(repeating: "0", count: 23) + "1"
    _ = try await $0.world.script(
      """
      insert into webhook_deliveries (webhook_id, delivery_id, event_id, user_id, type, at, data,
        state, attempts, due_at, ended_at, status, error, answer)
      values ('\(ids["webhook"] ?? "")', '\(delivery)', repeat('e', 24), '', 'user.created', now(),
        '{}', 'failed', 10, now(), now(), 500, 'status', 'broken')
      """)
    return ids.merging(["delivery": delivery]) { first, _ in first }
  }
}
