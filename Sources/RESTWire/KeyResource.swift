import Dossier
import EventLoop
import HTTP
import Wiring

/// `/v1/keys`, for the operator: the signing keys of an app.
@EventLoop enum KeyResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/v1/keys",
      access: .operator,
      gives: [.ok(.signingKeys)],
      summary: "List the signing keys of the app",
      list
    ),
    Operation(
      .post,
      "/v1/keys/rotate",
      access: .operator,
      gives: [.ok(.signingKeys)],
      summary: "Make a new signing key; tokens of those before stay good"
    ) { (call) async throws(Failure) in
      try await SigningKeys.rotate(of: call.context.app.name, by: call.administrator)
      return try await list(call)
    },
  ]

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let keys = try await SigningKeys.list(of: call.context.app.name, for: call.administrator)
    return Response(.ok, list: keys, \.json)
  }
}
