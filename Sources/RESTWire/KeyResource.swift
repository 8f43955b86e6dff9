import Declarations
import Representations
import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/keys`, for the operator, and the public keys of an app.
@EventLoop enum KeyResource {
  /// The key set for back ends that verify access tokens themselves.
  ///
  /// Each app has its own path, because libraries that fetch a key set send no `Dossier-App`. The
  /// path is not `/.well-known/jwks.json`, because OpenID Connect clients read that one, and some
  /// fail on keys other than RS256.
  nonisolated static let ofApps: [Operation] = [
    Operation(
      .get, "/v1/apps/{app}/jwks.json", access: .open, gives: [.ok(.publicKeys)],
      summary: "Read the public keys that verify the access tokens of an app"
    ) { (call) async throws(Failure) in
      let app = try await call.context.apps.app(named: call.text("app"), host: nil)
      let keys = try await PublicKey.all(for: .native, of: app.name, call.context)
      return Response(keySet: keys)
    }
  ]

  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/keys", access: .operator, gives: [.ok(.signingKeys)],
      summary: "List the signing keys of the app", list
    ).needing(.owner),
    Operation(
      .post, "/v1/keys/rotate", access: .operator,
      gives: [.ok(.signingKeys.shown(as: Example.keys))],
      summary: "Create signing keys; tokens of earlier keys stay valid"
    ) { (call) async throws(Failure) in
      try await SigningKeys.rotate(of: call.namedApp.id, call.context)
      return try await list(call)
    }.needing(.owner, stepUp: true),
    Operation(
      .delete, "/v1/keys/{key}", access: .operator, gives: [.noContent],
      summary: "Remove a signing key that has leaked; the tokens that it signed are refused"
    ) { (call) async throws(Failure) in
      try await SigningKeys.remove(call.text("key"), of: call.namedApp.id, call.context)
      return Response(.noContent)
    }.needing(.owner, stepUp: true),
  ]

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let keys = try await SigningKeys.list(of: call.namedApp.name, call.context)
    return Response(.ok, list: keys, \.json)
  }
}
