import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/userinfo`, the claims about the user of an access token.
///
/// - Source: OpenID Connect Core section 5.3.
@EventLoop enum UserInfoRoutes {
  nonisolated static let routes = [Method.get, .post].map { method in
    Route(
      method, "/userinfo", access: .bearer(.openID, proof: .session),
      body: method == .post ? BodyRule.of(.form, limit: 16_384).lenient() : .none,
      summary: "Read the claims about the user"
    ) { call async throws(Failure) in
      try await claims(call, at: call.provider)
    }
  }

  private static func claims(
    _ call: Call, at provider: Provider
  ) async throws(Failure) -> Response {
    let context = call.context
    guard let id = try AccessTokens.claimedClient(of: call.request.bearerToken),
      let client = try await Clients.client(id, of: context.app.id, context)
    else { throw .tokenInvalid }
    let scopes = context.principal.scopes.text.split(separator: " ").map(String.init)
    var claims = JSONObject()
    let user = try await StandardClaims.user(context)
    claims["sub"] = .string(user.subject(for: client))
    let members = try await StandardClaims.members(
      of: user, for: scopes, of: client, at: provider, context
    )
    for (name, value) in members { claims[name] = value }
    return Response(.ok, json: claims.serialized())
  }
}

extension BearerKind {
  /// An access token of OpenID Connect, for this server.
  static let openID = BearerKind(
    "access token of OpenID Connect", isOfForm: AccessTokens.isOfForm
  ) { token, call async throws(Failure) in
    // A native token names no client.
    guard AccessTokens.claimedClient(of: token) != nil else { throw .tokenInvalid }
    let principal = try await call.context.tokens.principal(
      of: token, app: call.context.app.id, audience: Provider.userInfo(of: call.issuer)
    )
    let scope = StandardScope.openID.rawValue
    guard principal.scopes.contains(scope) else { throw .insufficientScope(scope: scope) }
    return .user(principal)
  }
}
