import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// Ways in, and ways to link: `/auth/providers/{provider}/login`.
@EventLoop enum LoginRoutes {
  nonisolated static let routes = [
    Route(
      .post,
      "\(AppServicesWire.appPrefix)/auth/providers/{provider}/login",
      access: .open,
      body: .json(limit: 65_536).lenient(assuming: .json),
      summary: "Log a user in, or link what it could log in with",
      login
    )
  ]

  private static func login(_ call: Call) async throws(Failure) -> Response {
    guard let provider = Provider(rawValue: call.text("provider")) else {
      return ServiceError.noProvider(call.text("provider")).response(to: call)
    }
    let evidence: Provider.Evidence
    do throws(ServiceError) {
      evidence = try provider.evidence(in: call.json)
    } catch {
      return error.response(to: call)
    }
    // Other parameters of the query are for logins in a window, which are not offered.
    guard let query = FormValues(call.request.query) else {
      return ServiceError.badRequest("the query cannot be read").response(to: call)
    }
    if query["link"] == "true" {
      return try await link(evidence, provider, call)
    }
    return try await enter(evidence, provider, call)
  }

  private static func enter(
    _ evidence: Provider.Evidence,
    _ provider: Provider,
    _ call: Call
  ) async throws(Failure) -> Response {
    let context = try call.context
    context.bareDevice = BareDevice(named: device(in: call.json))
    let grant: Sessions.Grant
    do throws(Failure) {
      let proof =
        switch evidence {
        case .none: try await Users.proveNothing(context)
        case .password(let credentials): try await Users.prove(credentials, context)
        case .token(let token):
          try await TokenLogin.prove(token, accepting: provider.isOf, context)
        case .apiKey(let key): try await APIKeys.prove(key, context)
        }
      let style: SessionStyle = provider == .anonymous ? .anonymousAppServices : .appServices
      grant = try await Sessions.open(for: proof, as: style, context)
    } catch .wrongCredentials where provider != .localUserpass {
      return ServiceError.authError.response(to: call)
    } catch .invalidExternalToken(let rule) {
      call.note(.invalidExternalToken(rule))
      let issuers = try await TokenLogin.issuers(of: context)
      return
        (issuers.contains(where: provider.isOf)
        ? ServiceError.authError : .noProvider(provider.rawValue))
        .response(to: call)
    }
    let tokens = ServiceTokens(
      caller: grant.caller,
      access: grant.accessToken,
      refresh: grant.refreshToken
    )
    return Response(.ok, json: tokens.login)
  }

  /// The id that a login gave to the client before.
  private static func device(in body: JSON) -> DeviceID? {
    let id = body["options"]?["device"]?["deviceId"]
    return (id?["$oid"]?.string ?? id?.string).flatMap { DeviceID($0) }
  }

  /// Checks that the access token is of this wire.
  static func requireOwnAccessToken(of call: Call, for scope: String) throws(Failure) {
    guard try AccessTokens.claimedType(of: call.request.bearerToken) == "access" else {
      throw .forbidden(scope: scope)
    }
  }

  /// Refusals are never 401: realm-web would take that for a bad access token.
  private static func link(
    _ evidence: Provider.Evidence,
    _ provider: Provider,
    _ call: Call
  ) async throws(Failure) -> Response {
    // A login and a link are one route, which the query tells apart: its access is a login's.
    guard
      let caller = try await call.callerIfAny(scope: Scopes.updateIdentities, proof: .fresh)
    else { throw .unauthenticated(.missing) }
    // A token of another wire gets none of this one, whose refresh tokens are not rotated.
    try requireOwnAccessToken(of: call, for: Scopes.updateIdentities)
    let context = try call.context
    try await Beginnings.note(anonymous: caller, context)
    do throws(Failure) {
      switch evidence {
      case .none:
        return ServiceError.refusedLink(
          .badRequest,
          "anonymous credentials are nobody else's to link"
        ).response(to: call)
      case .password(let credentials):
        try await Identities.linkRegistered(credentials, to: caller, context)
      case .token(let token):
        try await Identities.linkToken(token, accepting: provider.isOf, to: caller, context)
      case .apiKey(let key):
        guard try await APIKeys.shown(key, context).owner == caller.user else {
          return ServiceError.refusedLink(.badRequest, "the key is another user's").response(
            to: call
          )
        }
      }
    } catch .wrongCredentials {
      let code: ServiceErrorCode = provider == .localUserpass ? .invalidPassword : .auth
      return ServiceError(.badRequest, "the credentials are wrong", code).response(to: call)
    } catch .emailUnconfirmed {
      return ServiceError(.badRequest, "the email address must be confirmed first", .auth)
        .response(to: call)
    } catch .invalidExternalToken(let rule) {
      call.note(.invalidExternalToken(rule))
      return ServiceError(.badRequest, "the token is refused: \(rule)", .auth).response(to: call)
    }
    let tokens = ServiceTokens(
      caller: caller,
      access: try await Sessions.accessToken(of: caller, as: .appServices, context),
      refresh: Sessions.signedRefreshToken(of: caller, as: .appServices, context) ?? ""
    )
    return Response(.ok, json: tokens.login)
  }
}

/// The providers of App Services that the domain has.
enum Provider: String, Sendable {
  case anonymous = "anon-user"
  case localUserpass = "local-userpass"
  case apiKey = "api-key"
  case customToken = "custom-token"
  case google = "oauth2-google"
  case apple = "oauth2-apple"

  /// What a user shows.
  enum Evidence: Sendable {
    case none
    case password(Credentials)
    case token(String)
    case apiKey(String)
  }

  /// Reads the body of a login; members that are not for this provider are passed over.
  func evidence(in body: JSON) throws(ServiceError) -> Evidence {
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

  /// The provider that an operator opens or closes by the name of a way in.
  init(_ way: String) {
    switch WayIn(rawValue: way) {
    case .anonymous: self = .anonymous
    case .jwt: self = .customToken
    case .apiKey: self = .apiKey
    case .password, .emailCode, nil: self = .localUserpass
    }
  }

  /// Whether identities of that kind are this provider's: a token of Google's is none of another's.
  @Sendable func isOf(_ identity: String) -> Bool { Provider(of: identity) == self }

  /// How a kind of identity of the domain is called.
  init(of identity: String) {
    switch identity {
    case "anonymous": self = .anonymous
    case "password": self = .localUserpass
    case "api-key": self = .apiKey
    case "jwt:https://accounts.google.com", "jwt:accounts.google.com": self = .google
    case "jwt:https://appleid.apple.com": self = .apple
    default: self = .customToken
    }
  }
}
