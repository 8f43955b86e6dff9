import Accounts
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import WireKit

/// The routes of the issuer: sign-up and tokens.
@EventLoop enum IssuerRoutes {
  nonisolated static func routes(_ users: UserView) -> [Route] {
    ["\(ParraWire.tenantPrefix)\(ParraWire.hostPrefix)", ParraWire.hostPrefix].flatMap { base in
      [
        route("\(base)/challenges", "List the ways to log in of an address", challenges),
        route("\(base)/signup", "Create a user with an address and a password") {
          (call) async throws(Failure) in try await signUp(call, users)
        },
        route("\(base)/issuers/anonymous/token", "Create an anonymous user, or refresh its tokens")
        { (call) async throws(Failure) in
          guard let token = call.json["token"]?.string else {
            return try await WireTokens.anonymous(call.context).response
          }
          return try await WireTokens.refreshed(by: token, as: .anonymousParra, call.context)
            .response
        },
        route("\(base)/issuers/guest/token", "Issue tokens of no user") {
          (call) async throws(Failure) in try await WireTokens.guest(call.context).response
        },
        route("\(base)/issuers/public/token", "Issue an access token to an API key", publicToken),
        Route(
          .post,
          "\(base)/token",
          access: .open,
          body: .of(.form, limit: 65_536),
          issuesSecrets: true,
          summary: "Issue tokens for a grant",
          token
        ),
      ] + PasswordRoutes.routes(base)
    }
  }

  private nonisolated static func route(
    _ pattern: String,
    _ summary: String,
    _ handler: @escaping Route.Handler
  ) -> Route {
    // The SDK sends the body of public keys without a media type.
    Route(
      .post,
      pattern,
      access: .open,
      body: .json(limit: 65_536).lenient(assuming: .json),
      issuesSecrets: true,
      summary: summary,
      handler
    )
  }

  // MARK: Tokens

  private static func token(_ call: Call) async throws(Failure) -> Response {
    guard case .form(let form) = call.body else { throw .internalError("a token without a form") }
    let context = call.context
    switch form["grant_type"] {
    case "refresh_token":
      guard let token = form["refresh_token"] else { throw .invalidRefreshToken }
      return try await WireTokens.refreshed(by: token, as: .parra, context).response
    case "password":
      let credentials = Credentials(
        email: form["username"] ?? "",
        password: form["password"] ?? ""
      )
      context.bareDevice = UnauthenticatedDevice(named: nil)
      return WireTokens(try await Users.signIn(credentials, as: .parra, context)).response
    default: return WireError.unknownGrantType.response(in: .both)
    }
  }

  /// Logs in with the API key of a user.
  ///
  /// A key of all users would let each client log in as any of them.
  private static func publicToken(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    guard let basic = call.request.field(.authorization).flatMap(BasicCredentials.init),
      let user = call.json["user_id"]?.string.flatMap(UserUUID.user)
    else { throw .wrongCredentials }
    context.bareDevice = UnauthenticatedDevice(named: nil)
    let token = try await APIKeys.accessToken(by: basic.secret, of: user, as: .parra, context)
    let body: JSON = ["access_token": .string(token)]
    return Response(.ok, json: body.serialized())
  }

  // MARK: Sign-up

  /// Returns whether a user has an address, which the first screen asks.
  private static func challenges(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    let exists = try await Users.isKnown(try call.identity, context)
    let ways: JSON =
      context.app.accountSettings.isOpen(.password) ? [["id": "password"]] : []
    let body: JSON = [
      "exists": .bool(exists), "type": "email", "supported_challenges": ways,
      "available_challenges": exists ? ways : .null,
    ]
    return Response(.ok, json: body.serialized())
  }

  /// Creates a user, or links the credentials to the anonymous user of the client.
  ///
  /// The client logs in with the next request, so the session of this one ends.
  private static func signUp(
    _ call: Call,
    _ users: UserView
  ) async throws(Failure) -> Response {
    let context = call.context
    guard let email = call.json["username"]?.string, let password = call.json["password"]?.string
    else { throw .invalid([Fault("", "type", "username and password are required strings.")]) }
    let credentials = Credentials(email: email, password: password)
    // A user must be able to sign in next; and a refusal would tell who has an account.
    guard context.app.accountSettings.signUp == .immediate else { throw .signUpClosed }
    try await Users.registerOnly(credentials, context)
    if let token = call.json["anonymous_token"]?.string {
      try await link(credentials, toAnonymousUserOf: token, context)
    }
    context.bareDevice = UnauthenticatedDevice(named: nil)
    let tokens = try await Users.signIn(credentials, as: .parra, context)
    let body = try await users.user(call)
    try await Sessions.logout(tokens.user, context)
    return Response(.ok, json: body.serialized())
  }

  /// Links the credentials of a new user to an anonymous one, which keeps its id and data.
  ///
  /// The SDK sends any token that it has. One that does not belong to an anonymous user is ignored.
  private static func link(
    _ credentials: Credentials,
    toAnonymousUserOf token: String,
    _ context: RequestContext
  ) async throws(Failure) {
    do throws(Failure) {
      if AccessTokens.claimedType(of: token) == WireTokens.refreshType {
        context.principal = try WireTokens.principal(of: token, context)
      } else {
        context.principal = try await context.tokens.principal(of: token, app: context.app.id)
      }
      if let user = context.principal.user,
        try await Profiles.read(of: user, context).isAnonymous
      {
        try await Identities.linkRegistered(credentials, to: user, context)
        // Another person may have copied the tokens. The SDK signs in again.
        try await Sessions.logout(user, context)
      }
    } catch let error where error.type.isOfCaller {
      // The new user stays as it is.
    }
    context.principal = .anyone
  }
}

extension ErrorType {
  /// Whether the request causes the error, and not the server.
  fileprivate var isOfCaller: Bool { status.code < 500 }
}
