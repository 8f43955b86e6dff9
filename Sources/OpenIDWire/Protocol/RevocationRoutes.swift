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
      .post, "/oauth/revoke", access: .open, body: .token, summary: "End the session of a token",
      revoke
    ),
    Route(
      .post, "/oauth/introspect", access: .open, body: .token,
      summary: "Tell a back end whether a token is valid", introspect
    ),
  ]

  private static func revoke(_ call: Call) async -> Response {
    await ClientAuthentication.response(to: call, wrong: .invalidClient) {
      (parameters, client) async throws(TokenError) in
      let token = try parameters.required("token")
      let isKnown = try await call.attempt { () async throws(Failure) in
        try await Introspection.revoke(token, of: client, at: call.issuer, call.context)
      }
      guard isKnown else {
        throw TokenError(
          .badRequest, "unsupported_token_type",
          "A token without a user has no session to end: remove the grant of the client."
        )
      }
      // An unknown token is as good as revoked.
      var response = Response(.ok)
      response.add(.cacheControl, literal: "no-store")
      return response
    }
  }

  private static func introspect(_ call: Call) async -> Response {
    await ClientAuthentication.response(to: call, wrong: .invalidClient) {
      (parameters, client) async throws(TokenError) in
      // Anyone knows the id of a public client.
      guard !client.kind.isPublic else { throw .invalidClient }
      let token = try parameters.required("token")
      let claims = try await call.attempt { () async throws(Failure) in
        try await Introspection.claims(of: token, for: client, at: call.issuer, call.context)
      }
      return Response(.ok, json: (claims.map(JSON.object) ?? ["active": false]).serialized())
    }
  }
}
