import Accounts
import Federation
import OpenIDClient
import Passkeys
import Records
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import Tenancy
import WireKit

/// The routes of the issuer: sign-up and tokens.
@EventLoop enum IssuerRoutes {
  nonisolated static var routes: [Route] {
    ["\(ParraWire.tenantPrefix)\(ParraWire.hostPrefix)", ParraWire.hostPrefix].flatMap { base in
      [
        route("\(base)/challenges", "List the ways to sign in with an address", challenges),
        route("\(base)/signup", "Create a user with an address and a password", signUp),
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
          .post, "\(base)/token", access: .open, body: .of(.form, limit: 65_536),
          issuesSecrets: true, summary: "Issue tokens for a grant", token
        ),
      ] + PasskeyRoutes.routes(base) + CodeRoutes.routes(base)
    }
  }

  nonisolated static func route(
    _ pattern: String, limit: Int = 65_536, _ summary: String, _ handler: @escaping Route.Handler
  ) -> Route {
    // The SDK sends the body of public keys without a media type.
    Route(
      .post, pattern, access: .open, body: .json(limit: limit).lenient(assuming: .json),
      issuesSecrets: true, summary: summary
    ) { (call) async throws(Failure) in
      do throws(Failure) {
        return try await handler(call)
      } catch {
        throw error.renaming("email", to: (try? call.identity.member) ?? "email")
      }
    }
  }

  // MARK: Tokens

  private static func token(_ call: Call) async throws(Failure) -> Response {
    guard case .form(let form) = call.body else {
      throw .internalError(reason: "a token without a form")
    }
    let context = call.context
    let session: OpenSession
    switch form["grant_type"] {
    case "refresh_token":
      guard let token = form["refresh_token"] else { throw .invalidRefreshToken }
      return try await WireTokens.refreshed(by: token, as: .parra, context).response
    case "password":
      let credentials = Credentials(email: form["username"] ?? "", password: form["password"] ?? "")
      context.bareDevice = UnauthenticatedDevice(named: nil)
      session = try await Users.signIn(credentials, as: .parra, context)
    case "passwordless_otp":
      context.bareDevice = UnauthenticatedDevice(named: nil)
      // Before the code is used up: after an outage, the client repeats the request with its guest.
      let guest = try await AnonymousToken.owner(of: form["anonymous_token"], context)
      let code = form["code"] ?? ""
      session = try await EmailCodes.signIn(code, linkingTo: guest, as: .parra, context)
    case "webauthn_token" where context.app.passkeySettings.isOpen:
      context.bareDevice = UnauthenticatedDevice(named: nil)
      session = try await Passkeys.finish(byCode: form["code"] ?? "", as: .parra, context)
    case "sign_in_with_apple":
      guard let connection = context.app.appleConnection else {
        return WireError.unknownGrantType.response(in: .both)
      }
      context.bareDevice = UnauthenticatedDevice(named: nil)
      let guest = try await AnonymousToken.owner(of: form["anonymous_token"], context)
      // The address of the form is unsigned, and so is the name, which only a new user gets.
      let account = try await Redirects.account(
        byToken: form["id_token"] ?? "", nonce: nil, code: form["code"],
        name: StatedName(given: form["given_name"], family: form["family_name"]), of: connection,
        context)
      session = try await account.signIn(linkingTo: guest, as: .parra, context)
    default: return WireError.unknownGrantType.response(in: .both)
    }
    let tokens = try await WireTokens(of: session, context)
    await AnonymousToken.merge(form["anonymous_token"], call)
    return tokens.response
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

  /// Returns whether a user has an address, which the first screen asks, and the ways to log in.
  private static func challenges(_ call: Call) async throws(Failure) -> Response {
    let settings = call.context.app.accountSettings
    let email = try call.identity.email
    let methods = try await Users.methods(of: email, call.context)
    let ways: [(method: LoginMethod, id: JSON)] = [
      (.password, "password"), (.emailCode, "passwordless_email"),
    ]
    let open = ways.filter { settings.isOpen($0.method) }
    var supported = open.map(\.id)
    var available = methods.map { methods in
      open.filter { methods.contains($0.method) }.map(\.id)
    }
    if call.context.app.passkeySettings.isOpen { supported.append("passkeys") }
    // The SDK then asks for a passkey at once.
    if try await Passkeys.areKnown(of: email, call.context) { available?.append("passkeys") }
    func list(_ ids: [JSON]) -> JSON { .array(ids.map { ["id": $0] }) }
    let body: JSON = [
      "exists": .bool(methods != nil), "type": "email",
      "supported_challenges": list(supported),
      "available_challenges": available.map(list) ?? .null,
    ]
    return Response(.ok, json: body.serialized())
  }

  /// Creates a user, or links the credentials to the anonymous user of the client.
  ///
  /// The client logs in with the next request. A repeated request succeeds until then, since the
  /// first response may have been lost.
  private static func signUp(_ call: Call) async throws(Failure) -> Response {
    let context = call.context
    guard let email = call.json["username"]?.string, let password = call.json["password"]?.string
    else { throw .invalid([FieldError("", "type", "username and password are required strings.")]) }
    let credentials = Credentials(email: email, password: password)
    // A user must also be able to sign in next.
    try context.requireImmediateSignUp()
    let guest = try await AnonymousToken.owner(of: call.json["anonymous_token"]?.string, context)
    let user: UserID
    do throws(Failure) {
      user = try await Users.registerOnly(credentials, linkingTo: guest, context)
    } catch .emailTaken {
      user = try await Users.registered(by: credentials, orLinkedTo: guest?.user, context)
    }
    // The user has no session yet.
    context.principal = Principal(.system, in: context.app.id, scopes: .everything)
    return Response(.ok, json: try await UserView.user(user, call).serialized())
  }
}
