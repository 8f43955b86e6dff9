import Tenancy
import Accounts
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
    // The other parameters belong to sign-in by redirect, which is not supported.
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
    context.bareDevice = UnauthenticatedDevice(named: device(in: call.json))
    let session: OpenSession
    do throws(Failure) {
      session =
        switch credential {
        case .none:
          try await Users.signInAnonymously(as: .anonymousAppServices, context)
        case .password(let credentials):
          try await Users.signIn(credentials, as: .appServices, context)
        case .token(let token):
          try await TokenLogin.signIn(token, accepting: provider.accepts, as: .appServices, context)
        case .apiKey(let key): try await APIKeys.signIn(key, as: .appServices, context)
        }
    } catch .wrongCredentials where provider != .localUserpass {
      return ServiceError.authError.response(to: call)
    } catch let error where error.is(.invalidExternalToken) {
      call.failure = error
      let issuers = try await TokenLogin.issuers(of: context)
      return
        (issuers.contains(where: provider.accepts)
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
  private static func device(in body: JSON) -> DeviceID? {
    let id = body["options"]?["device"]?["deviceId"]
    return (id?["$oid"]?.string ?? id?.string).flatMap { DeviceID($0) }
  }

  /// Throws `.insufficientScope` if another wire issued the access token.
  static func requireOwnAccessToken(of call: Call, for scope: String) throws(Failure) {
    guard try AccessTokens.claimedType(of: call.request.bearerToken) == "access" else {
      throw .insufficientScope(scope: scope)
    }
  }

  /// Links a credential, and keeps the caller's session, as the SDKs ignore a new refresh token.
  ///
  /// An error is never 401. realm-web would refresh its access token and repeat the call forever.
  private static func link(
    _ credential: Provider.Credential, _ provider: Provider, _ call: Call
  ) async throws(Failure) -> Response {
    // A login and a link share one route, so the route cannot require the token.
    try await call.identifyUserIfAny(scope: Scopes.updateIdentities, proof: .session)
    let user = try call.user
    // Refresh tokens of this wire are not rotated, so a token of another wire gets none.
    try requireOwnAccessToken(of: call, for: Scopes.updateIdentities)
    try await call.requireProof()
    let context = call.context
    // A guest needs no second factor. After a link, this access token would lack the required one.
    guard context.app.sessionSettings.mfa != .required else {
      return ServiceError.refusedLink(
        .badRequest, "the app requires a second factor, and this client cannot send one"
      ).response(to: call)
    }
    try await UserOrigins.note(anonymous: user, context)
    do throws(Failure) {
      switch credential {
      case .none:
        return ServiceError.refusedLink(
          .badRequest, "anonymous credentials cannot be linked"
        ).response(to: call)
      case .password(let credentials):
        try await Identities.linkRegistered(credentials, to: user, context)
      case .token(let token):
        _ = try await Identities.linkToken(
          token, accepting: provider.accepts, to: user, as: nil, context
        )
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

  /// The credential in the body of a login.
  enum Credential: Sendable {
    case none
    case password(Credentials)
    case token(String)
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
      throw .badRequest("an authCode is not exchanged here; send an id_token")
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
    case .issuer: self = .customToken
    }
  }
}
