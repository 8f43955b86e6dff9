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
      let context = call.context
      let app = context.app.id
      if let claims = try await context.tokens.claims(ofOpenIDToken: token, app: app) {
        if let user = claims.user,
          let session = claims["sid"]?.string.flatMap({ SessionID($0) })
        {
          try await ClientSessions.revoke(session, of: user, by: client, context)
        }
      } else {
        try await ClientSessions.revoke(refreshToken: token, of: client, context)
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
      let claims = try await liveClaims(of: token, for: client, call.context)
      return Response(.ok, json: (claims ?? ["active": false]).serialized())
    }
  }

  /// Returns what a valid token says; nil for any other token.
  private static func liveClaims(
    of token: String,
    for client: Client,
    _ context: RequestContext
  ) async throws(Failure) -> JSON? {
    let app = context.app.id
    if let claims = try await context.tokens.claims(ofOpenIDToken: token, app: app) {
      // A back end of the owner receives tokens of other clients. A third party has only its own.
      let isOwn = claims["client_id"]?.string?.hasSameBytes(as: client.id.text) == true
      guard isOwn || client.settings.isFirstParty else { return nil }
      if let session = claims["sid"] {
        guard let user = claims.user,
          let session = session.string.flatMap({ SessionID($0) }),
          try await ClientSessions.isLive(session, of: user, context)
        else { return nil }
      }
      var json = JSONObject()
      json["active"] = true
      json["token_type"] = "Bearer"
      for name in ["scope", "client_id", "sub", "aud", "iss", "exp", "iat", "jti"] {
        json[name] = claims[name]
      }
      return .object(json)
    }
    guard
      let session = try await ClientSessions.session(ofRefreshToken: token, of: client, context)
    else { return nil }
    var json = JSONObject()
    json["active"] = true
    json["token_type"] = "refresh_token"
    json["scope"] = .string(session.scopes.joined(separator: " "))
    json["client_id"] = .string(client.id.text)
    json["sub"] = .string(try await client.subject(of: session.user, context))
    return .object(json)
  }
}
