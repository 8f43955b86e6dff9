import Declarations
import EventLoop
import HTTP
import JSON
import OpenID
import Representations
import Runtime
import WireKit

/// `/v1/users/{user}/consents`, for API clients: the applications that a user has given access.
@EventLoop enum ConsentResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/users/{user}/consents", access: .client(scope: Scopes.readUsers),
      gives: [.ok(.list(of: consent))],
      summary: "List what a user has allowed applications, by client and API"
    ) { (call) async throws(Failure) in
      let consents = try await Consents.list(of: call.captured("user"), call.context)
      return Response(.ok, list: consents, \.json)
    },
    Operation(
      .delete, "/v1/users/{user}/consents/{client}", access: .client(scope: Scopes.updateUsers),
      gives: [.noContent],
      summary: "Take all consent of a user from an application, and end its sessions"
    ) { (call) async throws(Failure) in
      try await Consents.revoke(
        call.captured("client"), by: call.captured("user"), call.context)
      return Response(.noContent)
    }.needing(.support),
  ]

  private nonisolated static let consent = Shape.object([
    "client_id": .text.saying("the client").like(.string(Example.client)),
    "name": .text.orNull.saying("the name of the client; null if it was deleted").like("Mobile"),
    "audience": .text.orNull.saying("the API; null for the profile alone").like(.null),
    "scopes": .list(of: .text.like("openid")),
    "updated_at": .time(Example.played),
  ]).named("Consent", "The scopes that a user has allowed a client.")
}

extension Consent {
  fileprivate var json: JSON {
    [
      "client_id": .string(client.text), "name": JSON(name),
      "audience": audience.isEmpty ? .null : .string(audience),
      "scopes": .array(scopes.map(JSON.string)), "updated_at": .string(updatedAt.text),
    ]
  }
}
