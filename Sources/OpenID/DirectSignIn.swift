import Accounts
import Encoding
package import EventLoop
import JSON
package import Runtime
package import Sessions
package import Tenancy
import Records

/// A sign-in at the token endpoint, without the pages.
///
/// Only clients of the app's owner may do this, for resource servers that skip consent.
@EventLoop package struct DirectSignIn {
  private let client: Client
  private let scopes: [String]
  private let server: ResourceServer?

  /// - Parameters:
  ///   - client: the client, which is authenticated.
  ///   - scopes: the scopes that exist, of those that it asks for.
  ///   - server: the resource server of the tokens; nil for none.
  package init(by client: Client, _ scopes: [String], at server: ResourceServer?) {
    (self.client, self.scopes, self.server) = (client, scopes, server)
  }

  /// Signs a user in, and makes the tokens of the client.
  ///
  /// - Parameters:
  ///   - provider: this server as the client knows it.
  ///   - context: the context of the request.
  ///   - verb: the verb of the domain that begins a session of a style.
  /// - Returns: the tokens.
  /// - Throws: errors of the verb, `.sessionEnded`, `.overloaded`, `.databaseUnavailable`.
  package func tokens(
    at provider: Provider, _ context: RequestContext,
    _ verb: @EventLoop (SessionStyle) async throws(Failure) -> OpenSession
  ) async throws(Failure) -> IssuedTokens {
    let user = try await verb(style(at: provider)).user
    guard let id = context.principal.session,
      let session = try await ClientSessions.find(id, of: user, context)
    else { throw context.gone }
    return try await TokenIssue.tokens(of: session, scopes, for: client, at: provider, context)
  }

  /// The style of the session, which has no session at the pages above it.
  private func style(at provider: Provider) -> SessionStyle {
    SessionStyle(
      ClientSession.style,
      scopes: Scopes(scopes.joined(separator: " ")),
      keepsSessions: true,
      of: SessionStyle.Party(
        client: client.id, audience: server?.identifier, issuer: provider.issuer,
        isNotified: client.settings.backchannelLogoutURL != nil,
        lifetime: ClientSession.lifetime(of: scopes, for: client, at: server)
      )
    )
  }
}

/// The first step of a direct sign-in, whose user needs a second factor.
///
/// The client sends it back as `mfa_token` and repeats nothing of its request, so the token has the
/// request. It is sealed.
@EventLoop package struct DirectSecondStep {
  /// The sign-in to complete.
  package let signIn: DirectSignIn
  /// The flow of the second factor; nil if the user must enroll a factor, which needs the pages.
  package let flow: String?
  package let hasExpired: Bool

  /// Opens the token of a client.
  ///
  /// - Returns: nil if the token is forged, another client's, or for a resource server that was deleted.
  /// - Throws: `.databaseUnavailable`.
  package init?(
    _ token: String, by client: Client, _ context: RequestContext
  ) async throws(Failure) {
    guard
      let (json, hasExpired) = context.keys.master.openedText(
        token, as: Self.name(client, context)
      ),
      let scope = json["scope"]?.string
    else { return nil }
    var server: ResourceServer?
    if let audience = json["audience"]?.string {
      server = try await ResourceServers.find(audience, of: context.app.id, context)
      guard server != nil else { return nil }
    }
    signIn = DirectSignIn(by: client, [String](scopes: scope), at: server)
    flow = json["flow"]?.string
    self.hasExpired = hasExpired
  }

  fileprivate static func name(_ client: Client, _ context: RequestContext) -> String {
    "mfa_token \(context.app.id) \(client.id)"
  }
}

extension DirectSignIn {
  /// Returns the `mfa_token` for the second step.
  ///
  /// - Parameters:
  ///   - flow: the flow of the second factor; nil if the user must enroll a factor.
  ///   - context: the context of the request.
  /// - Returns: the token.
  /// - Throws: `.internalError`.
  package func token(of flow: String?, _ context: RequestContext) throws(Failure) -> String {
    var json = JSONObject()
    json["flow"] = flow.map(JSON.string)
    json["scope"] = .string(scopes.joined(separator: " "))
    json["audience"] = (server?.identifier).map(JSON.string)
    let name = DirectSecondStep.name(client, context)
    return try context.keys.master.sealedText(json, as: name, for: SecondFactorFlow.lifetime)
  }
}

/// The grants by which a client signs a user in at the token endpoint, without the pages.
package enum DirectGrant: String, CaseIterable, Sendable {
  case password
  case passwordRealm = "http://auth0.com/oauth/grant-type/password-realm"
  case emailCode = "http://auth0.com/oauth/grant-type/passwordless/otp"
  case factorCode = "http://auth0.com/oauth/grant-type/mfa-otp"
  case recoveryCode = "http://auth0.com/oauth/grant-type/mfa-recovery-code"
  /// A code or token that the SDK of another service has given to a native app.
  case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
  case passkey = "urn:okta:params:oauth:grant-type:webauthn"

  /// Returns whether the grant is open to a client.
  ///
  /// - Parameters:
  ///   - password: whether passwords can be exchanged for tokens.
  ///   - emailCode: whether mailed codes can.
  ///   - service: whether what other services give can.
  ///   - passkey: whether passkeys can.
  /// - Returns: whether a client may use the grant.
  package func isOpen(password: Bool, emailCode: Bool, service: Bool, passkey: Bool) -> Bool {
    switch self {
    case .password, .passwordRealm: password
    case .emailCode: emailCode
    case .factorCode, .recoveryCode: password || emailCode || service
    case .tokenExchange: service
    case .passkey: passkey
    }
  }
}

/// The grants that depend only on the kind of the client.
package enum StandardGrant: String, CaseIterable, Sendable {
  case authorizationCode = "authorization_code"
  case refreshToken = "refresh_token"
  case clientCredentials = "client_credentials"
}

extension ClientKind {
  /// The grants that each client of the kind may use.
  package var grants: [StandardGrant] {
    switch self {
    case .machine: [.clientCredentials]
    case .web: StandardGrant.allCases
    case .native, .singlePage: [.authorizationCode, .refreshToken]
    }
  }
}
