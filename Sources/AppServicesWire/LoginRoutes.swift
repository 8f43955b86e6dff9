import Tenancy
import Accounts
import Federation
import OpenIDClient
import Records
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import WireKit

/// Signs a user in, or links a credential: `/auth/providers/{provider}/login`.
@EventLoop enum LoginRoutes {
  nonisolated static let routes = [
    Route(
      .post, "\(AppServicesWire.appPrefix)/auth/providers/{provider}/login", access: .open,
      body: .json(limit: 65_536).lenient(assuming: .json),
      summary: "Sign a user in, or link a credential to the user", login
    )
  ]

  private static func login(_ call: Call) async throws(Failure) -> Response {
    guard let provider = Provider(rawValue: call.text("provider")) else {
      return ServiceError.noProvider(call.text("provider")).response(to: call)
    }
    let credential: Provider.Credential
    do throws(ServiceError) {
      credential = try provider.credential(in: call.json)
    } catch {
      return error.response(to: call)
    }
    guard let query = FormValues(call.request.query) else {
      return ServiceError.badRequest("the query cannot be read").response(to: call)
    }
    if query["link"] == "true" {
      return try await link(credential, provider, call)
    }
    return try await signIn(credential, provider, call)
  }

  private static func signIn(
    _ credential: Provider.Credential, _ provider: Provider, _ call: Call
  ) async throws(Failure) -> Response {
    let context = call.context
    context.bareDevice = UnauthenticatedDevice(named: device(call.json["options"]?["device"]))
    let session: OpenSession
    do throws(Failure) {
      session =
        switch credential {
        case .none:
          try await Users.signInAnonymously(as: .anonymousAppServices, context)
        case .password(let credentials):
          try await Users.signIn(credentials, as: .appServices, context)
        case .token, .code, .accessToken:
          if let account = try await provider.account(by: credential, context) {
            try await account.signIn(as: .appServices, context)
          } else if case .token(let token) = credential {
            try await TokenLogin.signIn(
              token, accepting: provider.accepts, as: .appServices, context)
          } else {
            throw .unknownConnection
          }
        case .apiKey(let key): try await APIKeys.signIn(key, as: .appServices, context)
        }
    } catch .wrongCredentials where provider != .localUserpass {
      return ServiceError.authError.response(to: call)
    } catch let error where error.is(.invalidExternalToken) {
      call.failure = error
      // A code, or a token of a connection, is refused by the same error.
      let hasConnection = provider.connection(in: context.app) != nil
      let issuers = hasConnection ? [] : try await TokenLogin.issuers(of: context)
      return
        (hasConnection || issuers.contains(where: provider.accepts)
        ? ServiceError(.unauthorized, "unauthorized: \(error.explanation)", .auth)
        : .noProvider(provider.rawValue))
        .response(to: call)
    }
    let grant = try await session.tokens(context)
    return ServiceTokens.response(
      context.principal, access: grant.accessToken, refresh: grant.refreshToken
    )
  }

  /// Returns the device id that an earlier login response gave the client.
  ///
  /// - Parameter description: the members by which the client describes its device.
  /// - Returns: the id; nil if it has none.
  static func device(_ description: JSON?) -> DeviceID? {
    let id = description?["deviceId"]
    return (id?["$oid"]?.string ?? id?.string).flatMap { DeviceID($0) }
  }

  /// Throws `.insufficientScope` if another wire issued the access token.
  static func requireOwnAccessToken(of call: Call, for scope: String) throws(Failure) {
    guard try AccessTokens.claimedType(of: call.request.bearerToken) == "access" else {
      throw .insufficientScope(scope: scope)
    }
  }

  /// Returns the user who links a credential.
  ///
  /// A login and a link share one route, so the route cannot require the token.
  static func linkingUser(_ call: Call) async throws(Failure) -> UserID {
    try await call.identifyUserIfAny(scope: Scopes.updateIdentities, proof: .session)
    let user = try call.user
    // Refresh tokens of this wire are not rotated, so a token of another wire gets none.
    try requireOwnAccessToken(of: call, for: Scopes.updateIdentities)
    try await call.requireProof()
    return user
  }

  /// Returns why the app lets no client link; nil if it does.
  ///
  /// A guest needs no second factor. After a link, its access token would lack the required one. A
  /// password needs a passkey in an app that requires one.
  static func linkRefusal(_ call: Call, ofPassword isPassword: Bool = false) -> ServiceError? {
    let app = call.context.app
    let needsPasskey = isPassword && app.passkeySettings.isRequired
    guard app.sessionSettings.mfa == .required || needsPasskey else { return nil }
    return .refusedLink(
      .badRequest, "the app requires a second factor, and this client cannot send one")
  }

  /// Links a credential, and keeps the caller's session, as the SDKs ignore a new refresh token.
  ///
  /// An error is never 401. realm-web would refresh its access token and repeat the call forever.
  private static func link(
    _ credential: Provider.Credential, _ provider: Provider, _ call: Call
  ) async throws(Failure) -> Response {
    let user = try await linkingUser(call)
    let isPassword = provider == .localUserpass
    if let refusal = linkRefusal(call, ofPassword: isPassword) { return refusal.response(to: call) }
    let context = call.context
    try await UserOrigins.note(anonymous: user, context)
    do throws(Failure) {
      switch credential {
      case .none:
        return ServiceError.refusedLink(
          .badRequest, "anonymous credentials cannot be linked"
        ).response(to: call)
      case .password(let credentials):
        try await Identities.linkRegistered(credentials, to: user, context)
      case .token, .code, .accessToken:
        if let account = try await provider.account(by: credential, context) {
          try await account.link(to: user, as: nil, context)
        } else if case .token(let token) = credential {
          _ = try await Identities.linkToken(
            token, accepting: provider.accepts, to: user, as: nil, context
          )
        } else {
          throw .unknownConnection
        }
      case .apiKey(let key):
        guard try await APIKeys.shown(key, context).owner == user else {
          return ServiceError.refusedLink(.badRequest, "the key is another user's").response(
            to: call
          )
        }
      }
    } catch .wrongCredentials {
      let code: ServiceErrorCode = provider == .localUserpass ? .invalidPassword : .auth
      return ServiceError(.badRequest, "the credentials are wrong", code).response(to: call)
    } catch let error where error.is(.connectionFailed) || error.is(.identityNotAllowed) {
      call.failure = error
      return ServiceError(.badRequest, ServiceError(error).text, .auth).response(to: call)
    } catch .emailUnverified {
      return ServiceError(.badRequest, "the email address must be confirmed first", .auth)
        .response(to: call)
    } catch let error where error.is(.invalidExternalToken) {
      call.failure = error
      return ServiceError(.badRequest, "the token is refused: \(error.explanation)", .auth)
        .response(to: call)
    }
    return ServiceTokens.response(
      context.principal, access: try await Sessions.accessToken(as: .appServices, context),
      refresh: Sessions.signedRefreshToken(as: .appServices, context) ?? ""
    )
  }
}

/// The authentication providers of App Services that this server offers.
enum Provider: String, Sendable {
  case anonymous = "anon-user"
  case localUserpass = "local-userpass"
  case apiKey = "api-key"
  case customToken = "custom-token"
  case google = "oauth2-google"
  case apple = "oauth2-apple"
  case facebook = "oauth2-facebook"

  /// The credential in the body of a login.
  enum Credential: Sendable {
    case none
    case password(Credentials)
    case token(String)
    /// A code of the SDK of Google, and whether a native app has got it.
    case code(String, isNative: Bool)
    /// An access token of the SDK of Facebook.
    case accessToken(String)
    case apiKey(String)
  }

  /// Returns the credential in the body of a login, and ignores members of other providers.
  func credential(in body: JSON) throws(ServiceError) -> Credential {
    func text(_ name: String) throws(ServiceError) -> String {
      guard let text = body[name]?.string else {
        throw ServiceError(.badRequest, "'\(name)' is a required string", .missingParameter)
      }
      return text
    }
    switch self {
    case .anonymous: return .none
    case .localUserpass:
      return .password(Credentials(email: try text("username"), password: try text("password")))
    case .apiKey: return .apiKey(try text("key"))
    case .customToken: return .token(try text("token"))
    case .google where body["id_token"] == nil && body["authCode"] != nil:
      let code = try text("authCode")
      guard (1...4_096).contains(code.utf8.count) else {
        throw .badRequest("an authCode has 1 to 4096 bytes")
      }
      let platform = body["options"]?["device"]?["platform"]?.string?.lowercased() ?? ""
      return .code(code, isNative: ["android", "ios"].contains(platform))
    case .facebook: return .accessToken(try text("accessToken"))
    case .google, .apple: return .token(try text("id_token"))
    }
  }

  /// Creates the provider of a login method in the app's settings.
  init(_ way: String) {
    switch LoginMethod(rawValue: way) {
    case .anonymous: self = .anonymous
    case .jwt: self = .customToken
    case .apiKey: self = .apiKey
    case .password, .emailCode, nil: self = .localUserpass
    }
  }

  /// Returns whether an identity of this kind belongs to this provider.
  ///
  /// Google's tokens belong to Google.
  @Sendable func accepts(_ identity: IdentityProvider) -> Bool { Provider(of: identity) == self }

  /// The preset of connections to it; nil for a provider that is no other service.
  private var preset: ProviderPreset? {
    switch self {
    case .google: .google
    case .apple: .apple
    case .facebook: .facebook
    case .anonymous, .localUserpass, .apiKey, .customToken: nil
    }
  }

  /// Returns the connection of the app to it; nil without one.
  func connection(in app: App) -> Connection? {
    preset.flatMap { preset in app.connections.all.first { $0.preset == preset } }
  }

  /// Returns the account there of a credential; nil if the app has no connection to the provider.
  ///
  /// - Throws: as `Redirects.account`.
  @EventLoop func account(
    by credential: Credential, _ context: RequestContext
  ) async throws(Failure) -> ConnectedAccount? {
    guard let connection = connection(in: context.app) else { return nil }
    switch credential {
    case .token(let token):
      return try await Redirects.account(byToken: token, nonce: nil, of: connection, context)
    case .code(let code, let isNative):
      return try await Redirects.account(
        byCode: code, redirectURI: isNative ? nil : Self.webCode, verifier: nil, nonce: nil,
        of: connection, context)
    case .accessToken(let token):
      return try await Redirects.account(byAccessToken: token, of: connection, context)
    case .none, .password, .apiKey: return nil
    }
  }

  /// The redirect URI for which Google gives codes to the scripts of web pages.
  private static let webCode = "postmessage"

  /// Creates the provider of an identity of a user of the app.
  init(of identity: IdentityProvider, in app: App) {
    let connection = app.connections.connection(of: identity)
    let all: [Provider] = [.google, .apple, .facebook]
    self = all.first { $0.preset == connection?.preset } ?? Provider(of: identity)
  }

  /// Creates the provider of a kind of identity of the domain.
  init(of identity: IdentityProvider) {
    switch identity {
    case .anonymous: self = .anonymous
    // A user who signs in with a mailed code needs no password. This wire has no other name for
    // that.
    case .password, .linkedPassword, .email: self = .localUserpass
    case .apiKey: self = .apiKey
    case .issuer("jwt:https://accounts.google.com"), .issuer("jwt:accounts.google.com"):
      self = .google
    case .issuer("jwt:https://appleid.apple.com"): self = .apple
    case .issuer("jwt:https://www.facebook.com"): self = .facebook
    // This wire has no name for a passkey.
    case .passkey, .issuer: self = .customToken
    }
  }
}
