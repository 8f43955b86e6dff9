import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/oauth/revoke` and `/oauth/introspect`.
///
/// - Source: RFC 7009; RFC 7662.
@EventLoop enum RevocationRoutes {
  nonisolated static let routes = [
    Route(
      .post,
      "/oauth/revoke",
      access: .open,
      body: .token,
      summary: "End the session of a token",
      revoke
    ),
    Route(
      .post,
      "/oauth/introspect",
      access: .open,
      body: .token,
      summary: "Tell a back end whether a token is valid",
      introspect
    ),
  ]

  private static func revoke(_ call: Call) async throws(Failure) -> Response {
    let parameters = TokenParameters(call)
    switch try await ClientAuthentication.client(parameters, wrong: .invalidClient, call) {
    case .failure(let error): return error.response(to: call)
    case .success(let client):
      guard let token = parameters["token"] else {
        return TokenError.badRequest("token is required.").response(to: call)
      }
      guard try await Introspection.revoke(token, of: client, at: call.issuer, call.context) else {
        return TokenError(
          .badRequest,
          "unsupported_token_type",
          "A token without a user has no session to end: remove the grant of the client."
        ).response(to: call)
      }
      // An unknown token is as good as revoked.
      var response = Response(.ok)
      response.add(.cacheControl, literal: "no-store")
      return response
    }
  }

  private static func introspect(_ call: Call) async throws(Failure) -> Response {
    let parameters = TokenParameters(call)
    switch try await ClientAuthentication.client(parameters, wrong: .invalidClient, call) {
    case .failure(let error): return error.response(to: call)
    case .success(let client):
      // Anyone knows the id of a public client.
      guard !client.kind.isPublic else { return TokenError.invalidClient.response(to: call) }
      guard let token = parameters["token"] else {
        return TokenError.badRequest("token is required.").response(to: call)
      }
      let claims = try await Introspection.claims(
        of: token,
        for: client,
        at: call.issuer,
        call.context
      )
      return Response(.ok, json: (claims.map(JSON.object) ?? ["active": false]).serialized())
    }
  }
}
