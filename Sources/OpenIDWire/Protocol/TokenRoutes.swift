import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Tenancy
import WireKit

/// `/oauth/token`, where clients get their tokens.
///
/// - Source: RFC 6749 section 3.2; OpenID Connect Core section 3.1.3.
@EventLoop enum TokenRoutes {
  nonisolated static let routes = [
    Route(
      .post, "/oauth/token", access: .open, body: .token, issuesSecrets: true,
      summary: "Exchange a code, a refresh token, a password or a client's secret for tokens"
    ) { call in
      await ClientAuthentication.response(to: call) {
        (parameters, client) async throws(TokenError) in
        response(try await tokens(parameters, client, call))
      }
    }
  ]

  /// Returns the tokens of the grant that a client sends.
  ///
  /// - Throws: the error of the token endpoint.
  private static func tokens(
    _ parameters: TokenParameters, _ client: Client, _ call: Call
  ) async throws(TokenError) -> IssuedTokens {
    let type = try parameters.required("grant_type")
    let (context, provider, scopes) = (call.context, call.provider, parameters.scopes)
    if let grant = DirectGrant(rawValue: type) {
      let exchange = DirectExchange(
        parameters: parameters, client: client, provider: provider, call: call
      )
      return try await exchange.tokens(grant)
    }
    guard let grant = StandardGrant(rawValue: type) else {
      throw .unsupportedGrantType
    }
    guard client.kind.grants.contains(grant) else { throw .unauthorizedClient }
    switch grant {
    case .authorizationCode:
      let code = try parameters.required("code")
      let proof = AuthorizationCodes.Proof(
        redirect: parameters["redirect_uri"], verifier: parameters["code_verifier"],
        audience: try parameters.audience()
      )
      return try await call.attempt { () async throws(Failure) in
        try await AuthorizationCodes.redeem(code, by: client, proof, at: provider, context)
      }
    case .refreshToken:
      let (token, audience) = (try parameters.required("refresh_token"), try parameters.audience())
      return try await call.attempt { () async throws(Failure) in
        try await ClientTokens.refresh(
          token, scopes, for: audience, by: client, at: provider, context
        )
      }
    case .clientCredentials:
      guard let audience = try parameters.audience() else {
        throw .badRequest("audience or resource is required.")
      }
      return try await call.attempt { () async throws(Failure) in
        try await ClientTokens.token(for: audience, scopes, by: client, at: provider, context)
      }
    }
  }

  /// - Source: RFC 6749 section 5.1.
  private static func response(_ tokens: IssuedTokens) -> Response {
    var json = JSONObject()
    json["access_token"] = .string(tokens.accessToken)
    json["token_type"] = "Bearer"
    json["expires_in"] = .number(JSONNumber(tokens.lifetime.wholeSeconds))
    json["scope"] = .string(tokens.scopes.joined(separator: " "))
    json["id_token"] = tokens.identityToken.map(JSON.string)
    json["refresh_token"] = tokens.refreshToken.map(JSON.string)
    var response = Response(.ok, json: json.serialized())
    response.add(.pragma, literal: "no-cache")
    return response
  }
}

extension BodyRule {
  /// The body of the token endpoint and its siblings, in which SDKs send JSON or a form.
  static let token = BodyRule.of(.form, .json, limit: 65_536)
}
