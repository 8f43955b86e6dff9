import Declarations
import Accounts
import Administration
import RateLimiting
import Runtime
import EventLoop
import HTTP
import JSON
import Outbound
import WireKit

/// `/v1/rate-limits`, for the operator.
@EventLoop enum RateLimitResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/rate-limits", access: .operator, gives: [.ok(.throttled)],
      summary: "List the rate limits of an app that refuse attempts now, the last refusal first"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      return Response(.ok, list: try await RateLimits.throttled(call.context), \.json)
    },
    Operation(
      .post, "/v1/rate-limits/reset", access: .operator,
      takes: .body(.json(limit: 4_096), selection), gives: [.ok(.resetCount)],
      summary: "Reset the rate limits of a user, an address, a network, or all of the app", reset
    ).needing(.support),
  ]

  private nonisolated static let selection = Fields(
    "RateLimitSelection",
    "The rate limits to reset: all, those of one email or user_id, of a network, or of both.",
    .optional(.text("email", .address)),
    .optional(.user("user_id")),
    .optional(.text("network", .network)),
    .optional(.flag("all"))
  ).like(["email": "ada@example.org", "network": "198.51.100.7"])

  private static func faults(
    _ email: String?, _ user: UserID?, _ network: String?, _ all: Bool?
  ) -> [FieldError] {
    var faults: [FieldError] = []
    let isOfSome = email != nil || user != nil || network != nil
    if isOfSome == (all == true) || email != nil && user != nil {
      faults.append(
        FieldError(
          "", "choice", "Send either all, or one of email and user_id, a network, or both."
        )
      )
    }
    if let network, IPAddress(network) == nil {
      faults.append(
        FieldError(
          "/network", "address", "This must be an IP address, such as 198.51.100.7 or 2001:db8::1."
        )
      )
    }
    return faults
  }

  private static func reset(
    _ call: Call, _ email: String?, _ user: UserID?, _ network: String?, _ all: Bool?
  ) async throws(Failure) -> Response {
    let faults = faults(email, user, network, all)
    guard faults.isEmpty else { throw .invalid(faults) }
    _ = try call.namedApp
    if let user, call.context.principal.administrator != nil {
      _ = try await Profiles.read(of: user, call.context)
    }
    let count: Int
    if all == true {
      count = try await RateLimits.resetAll(call.context)
    } else {
      count = try await RateLimits.reset(
        ofEmail: email, user: user, from: network.flatMap { IPAddress($0) }, call.context
      )
    }
    let body: JSON = ["reset": .number(JSONNumber(count))]
    return Response(.ok, json: body.serialized())
  }
}

extension ThrottledCaller {
  fileprivate var json: JSON {
    [
      "limit": .string(limit), "network": .string(network),
      "refused_at": .string(refusedAt.text), "ends_at": .string(endsAt.text),
    ]
  }
}

extension Shape {
  fileprivate static let throttled = Shape.list(
    of: .object([
      "limit": .text.saying("the name of the limit").like("login-network"),
      "network": .network.saying("an address of the network"),
      "refused_at": .time(Example.visited).saying("when it last recorded a refusal"),
      "ends_at": .time(Example.played).saying("when attempts are possible again, at the latest"),
    ]).named("ThrottledCaller", "A rate limit that refuses attempts now."),
    atMost: 1_000
  )

  fileprivate static let network = Shape.text.saying("an IP address").like("198.51.100.7")

  fileprivate static let resetCount = Shape.object(["reset": .count.like(3)])
    .named("ResetCount", "The number of rate limits that were reset.")
}
