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
      .post,
      "/oauth/token",
      access: .open,
      body: .token,
      issuesSecrets: true,
      summary: "Exchange a code, a refresh token, a password or a client's secret for tokens"
    ) { call in
      await ClientAuthentication.response(to: call) {
        (parameters, client) async throws(TokenError) in
        let grant = try Grant(parameters, by: client)
        return response(try await tokens(grant, parameters.scopes, client, call.provider, call))
      }
    }
  ]

  private static func tokens(
    _ grant: Grant,
    _ scopes: [String]?,
    _ client: Client,
    _ provider: Provider,
    _ call: Call
  ) async throws(TokenError) -> IssuedTokens {
    let context = call.context
    switch grant {
    case .code(let code, let proof):
      return try await call.attempt { () async throws(Failure) in
        try await AuthorizationCodes.redeem(code, by: client, proof, at: provider, context)
      }
    case .refreshToken(let token, let audience):
      return try await call.attempt { () async throws(Failure) in
        try await ClientTokens.refresh(
          token,
          scopes,
          for: audience,
          by: client,
          at: provider,
          context
        )
      }
    case .client(let audience):
      return try await call.attempt { () async throws(Failure) in
        try await ClientTokens.token(for: audience, scopes, by: client, at: provider, context)
      }
    case .direct(let grant, let parameters):
      let exchange = DirectExchange(
        parameters: parameters,
        client: client,
        provider: provider,
        call: call
      )
      return try await exchange.tokens(grant)
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

/// The grant that a client exchanges for tokens.
private enum Grant {
  case code(String, AuthorizationCodes.Proof)
  case refreshToken(String, audience: String?)
  /// The client's own secret, for a resource server.
  case client(audience: String)

  /// The password or the code of a user.
  case direct(DirectGrant, TokenParameters)

  init(_ parameters: TokenParameters, by client: Client) throws(TokenError) {
    let type = try parameters.required("grant_type")
    switch type {
    case "authorization_code":
      try Self.require(client.kind != .machine)
      self = .code(
        try parameters.required("code"),
        AuthorizationCodes.Proof(
          redirect: parameters["redirect_uri"],
          verifier: parameters["code_verifier"]
        )
      )
    case "refresh_token":
      try Self.require(client.kind != .machine)
      self = .refreshToken(
        try parameters.required("refresh_token"),
        audience: parameters["audience"]
      )
    case "client_credentials":
      try Self.require(!client.kind.isPublic)
      self = .client(audience: try parameters.required("audience"))
    default:
      guard let grant = DirectGrant(rawValue: type) else {
        throw TokenError(
          .forbidden,
          "unsupported_grant_type",
          "grant_type must be one of grant_types_supported in the discovery document."
        )
      }
      self = .direct(grant, parameters)
    }
  }

  private static func require(_ isAllowed: Bool) throws(TokenError) {
    guard isAllowed else { throw .unauthorizedClient }
  }
}
