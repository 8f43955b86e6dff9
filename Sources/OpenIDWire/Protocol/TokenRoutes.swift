import Accounts
import Encoding
import EventLoop
import HTTP
import JSON
import OpenID
import Runtime
import Sessions
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
    .repeating(.only(NamedAPI.resource))
}

extension DirectGrant {
  /// Returns whether a client may use the grant.
  ///
  /// Only a client of the app's owner may ask users for their passwords and codes.
  @EventLoop func isAllowed(for client: Client, in app: App) -> Bool {
    let (settings, methods) = (client.settings, SignInMethods(app, client))
    guard settings.isFirstParty, client.kind != .machine else { return false }
    return isOpen(
      password: settings.allowsPasswordGrant && methods.takesPassword,
      emailCode: settings.allowsEmailCodeGrant && methods.takesCode,
      service: !methods.connections.isEmpty,
      passkey: app.passkeySettings.isOpen && settings.allows(.password)
    )
  }
}

/// The exchange of a password or a code for tokens.
@EventLoop struct DirectExchange {
  let parameters: TokenParameters
  let client: Client
  let provider: Provider
  let call: Call

  /// Returns the tokens of a grant.
  ///
  /// - Throws: the error of the token endpoint.
  func tokens(_ grant: DirectGrant) async throws(TokenError) -> IssuedTokens {
    guard grant.isAllowed(for: client, in: call.context.app) else {
      throw .unauthorizedClient
    }
    let context = call.context
    switch grant {
    case .password: return try await tokensByPassword()
    case .passwordRealm:
      try requireRealm(.password)
      return try await tokensByPassword()
    case .emailCode:
      try requireRealm(.emailCode)
      let (email, code) = (try parameters.required("username"), try parameters.required("otp"))
      return try await complete(
        try await signIn(), wrong: .invalidGrant("Wrong email or verification code.")
      ) { style async throws(Failure) in
        try await EmailCodes.signIn(code, at: email, as: style, context)
      }
    case .factorCode:
      return try await tokens(
        bySecondFactor: try parameters.required("otp"), wrong: .invalidGrant("Invalid otp_code.")
      )
    case .recoveryCode:
      return try await tokens(
        bySecondFactor: try parameters.required("recovery_code"),
        wrong: .invalidGrant("MFA Authorization rejected.")
      )
    case .tokenExchange: return try await tokensByEvidence()
    case .passkey: return try await tokensByPasskey()
    }
  }

  private func tokensByPassword() async throws(TokenError) -> IssuedTokens {
    let context = call.context
    let credentials = Credentials(
      email: try parameters.required("username"), password: try parameters.required("password")
    )
    return try await complete(
      try await signIn(), wrong: .invalidGrant("Wrong email or password.")
    ) { style async throws(Failure) in
      try await Users.signIn(credentials, as: style, reportsBlock: true, context)
    }
  }

  private func tokens(
    bySecondFactor code: String, wrong: TokenError
  ) async throws(TokenError) -> IssuedTokens {
    let context = call.context
    let token = try parameters.required("mfa_token")
    let step = try await call.attempt { () async throws(Failure) in
      try await DirectSecondStep(token, by: client, context)
    }
    guard let step else { throw .invalidGrant("Malformed mfa_token") }
    guard !step.hasExpired else {
      throw TokenError(
        .badRequest, "invalid_grant", "mfa_token is expired", auth0: (.forbidden, "expired_token")
      )
    }
    guard let flow = step.flow else {
      throw .invalidGrant("The user must first set up a second factor at the pages.")
    }
    return try await complete(step.signIn, wrong: wrong) { style async throws(Failure) in
      try await SecondFactorFlow.complete(flow, by: code, as: style, context).session
    }
  }

  private func requireRealm(_ connection: ClientSettings.Connection) throws(TokenError) {
    guard try parameters.required("realm").hasSameBytes(as: connection.auth0Name) else {
      throw .badRequest("realm must be \(connection.auth0Name).")
    }
  }

  /// Returns the sign-in that the client asks for.
  func signIn() async throws(TokenError) -> DirectSignIn {
    let context = call.context
    let audience = try parameters.audience()
    let server = try await call.attempt { () async throws(Failure) in
      try await Provider.server(named: audience, at: call.issuer, context)
    }
    guard server != nil else { throw .invalidTarget(NamedAPI.missing(audience)) }
    guard !client.needsConsent(at: server) else {
      throw TokenError(
        .badRequest, "unauthorized_client",
        "Users must consent to this API. Only the hosted pages can ask for that.",
        auth0: (.forbidden, "consent_required")
      )
    }
    let requested = RequestedScopes(parameters.scopes ?? [], at: server)
    try await call.attempt { () throws(Failure) in
      try requested.check(for: client, at: server, of: call.issuer, context)
    }
    return DirectSignIn(by: client, requested.granted, at: server)
  }

  /// Signs in; throws `mfa_required` if the user needs a second factor.
  func complete(
    _ signIn: DirectSignIn, wrong: TokenError,
    _ verb: @EventLoop (SessionStyle) async throws(Failure) -> OpenSession
  ) async throws(TokenError) -> IssuedTokens {
    do throws(Failure) {
      return try await signIn.tokens(at: provider, call.context, verb)
    } catch {
      let answer = call.error(for: error)
      switch error {
      case .wrongCredentials, .invalidCode, .invalidExternalToken: throw wrong
      case .additionalFactorRequired: throw try await secondStep(of: signIn, error)
      default: throw answer
      }
    }
  }

  private func secondStep(
    of signIn: DirectSignIn, _ failure: Failure
  ) async throws(TokenError) -> TokenError {
    let methods = SecondFactorFlow.methods(of: failure)
    let takesCode = methods.contains(.totp)
    let enrolls = methods.contains(.enroll) || methods.contains(.enrollPasskey)
    let type: JSON = takesCode || methods.contains(.enroll) ? "otp" : "passkey"
    let token = try await call.attempt { () async throws(Failure) in
      try signIn.token(of: enrolls ? nil : failure["flow"]?.string, call.context)
    }
    var error = TokenError(.forbidden, "mfa_required", "Multifactor authentication required")
    error.members = [
      ("mfa_token", .string(token)),
      ("mfa_requirements", [enrolls ? "enroll" : "challenge": [["type": type]]]),
    ]
    return error
  }
}
