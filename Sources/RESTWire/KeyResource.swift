import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/keys`, for the operator: the signing keys of an app, whose public parts are for everybody.
@EventLoop enum KeyResource {
  /// For back ends that verify access tokens by themselves.
  ///
  /// Each app has a path of its own, as libraries that fetch such a set send no header field that
  /// names an app. It is not `/.well-known/jwks.json`: clients of OpenID Connect look there, and some
  /// fail on a set with any key that is not RS256.
  nonisolated static let ofApps: [Operation] = [
    Operation(
      .get,
      "/v1/apps/{app}/jwks.json",
      access: .open,
      gives: [.ok(.publicKeys)],
      summary: "The public keys that verify the access tokens of an app, as a JSON Web Key Set"
    ) { (call) async throws(Failure) in
      let keys = try await PublicKey.all(for: .native, of: call.text("app"), call.context)
      return Response(keySet: keys)
    }
  ]

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
      gives: [.ok(.signingKeys.shown(as: Example.keys))],
      summary: "Make new signing keys; tokens of those before stay good"
    ) { (call) async throws(Failure) in
      try await SigningKeys.rotate(of: call.namedApp.name, call.context)
      return try await list(call)
    },
  ]

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let keys = try await SigningKeys.list(of: call.namedApp.name, call.context)
    return Response(.ok, list: keys, \.json)
  }
}
