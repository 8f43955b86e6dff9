import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/login`, `/v1/register`, `/v1/token/refresh` and `/v1/logout`.
@EventLoop enum LoginResource {
  nonisolated static let operations: [Operation] = [
    open(
      "/v1/login/anonymous",
      1_024,
      takes: .nothing,
      gives: .ok(.grant),
      refuses: [.wayInClosed, .tooManyAttempts, .deviceFull],
      "Make a user without credentials and log it in"
    ) {
      (call) async throws(Failure) in
      _ = try call.strings()
      return try await logIn(Users.proveNothing(call.context), call)
    },
    open(
      "/v1/register",
      4_096,
      takes: .credentials,
      gives: .created(.grant, "The user is logged in."),
      .accepted(nil, "The address must be confirmed first."),
      refuses: [.wayInClosed, .emailTaken, .wrongCredentials, .tooManyAttempts, .deviceFull],
      "Log in with email address and password; without such a user make one"
    ) {
      (call) async throws(Failure) in
      guard let proof = try await Users.register(newCredentials(call), call.context) else {
        return Response(.accepted)
      }
      return try await logIn(proof, call, .created)
    },
    open(
      "/v1/login/password",
      4_096,
      takes: .credentials,
      gives: .ok(.grant),
      refuses: [.wayInClosed, .wrongCredentials, .emailUnconfirmed, .tooManyAttempts, .deviceFull],
      "Log in with email address and password"
    ) {
      (call) async throws(Failure) in
      try await logIn(Users.prove(credentials(call), call.context), call)
    },
    open(
      "/v1/login/jwt",
      20_000,
      takes: .token,
      gives: .ok(.grant),
      refuses: [
        .wayInClosed, .wrongCredentials, .externalTokenInvalid, .issuerUnavailable, .deviceFull,
      ],
      "Log in with a token of one of the app's issuers"
    ) {
      (call) async throws(Failure) in
      try await logIn(TokenLogin.prove(call.strings("token")[0], call.context), call)
    },
    open(
      "/v1/login/api-key",
      1_024,
      takes: .key,
      gives: .ok(.grant),
      refuses: [.wayInClosed, .wrongCredentials, .deviceFull],
      "Log in with an API key"
    ) {
      (call) async throws(Failure) in
      try await logIn(APIKeys.prove(call.strings("key")[0], call.context), call)
    },
    open(
      "/v1/token/refresh",
      1_024,
      takes: .refresh,
      gives: .ok(.grant),
      refuses: [.refreshTokenInvalid, .sessionEnded],
      "Exchange a refresh token, or the cookie of a device, for new tokens",
      refresh
    ),
    Operation(
      .post,
      reauthentication,
      access: .user(scope: Scopes.readUser, proof: .body),
      body: .json(limit: 20_000),
      takes: .evidence,
      gives: [.ok(.grant)],
      refuses: [
        .wayInClosed, .wrongCredentials, .externalTokenInvalid, .issuerUnavailable,
        .tooManyAttempts,
      ],
      summary:
        "Show anew, by what logs in, that it is the user who calls, and go on in a new session"
    ) { (call) async throws(Failure) in
      let grant = try await Sessions.reauthenticate(call.caller, by: evidence(call), call.context)
      return try response(.ok, grant, call)
    },
    Operation(
      .post,
      "/v1/logout",
      access: .user(scope: Scopes.readUser),
      gives: [.noContent],
      summary: "End the session"
    ) { (call) async throws(Failure) in
      try await Sessions.logout(call.caller, call.context)
      return Response(.noContent)
    },
  ]

  /// By a cookie also for a user that is named.
  ///
  /// Who shows neither is to log in, as whoever shows what is of no more use: to a page these are one
  /// thing.
  private static func refresh(_ call: Call) async throws(Failure) -> Response {
    var members = try Members(
      call.json,
      known: [call.usesCookie ? "user_id" : "refresh_token"]
    )
    if call.usesCookie {
      let user = members.has("user_id") ? members.string("user_id") : nil
      try members.check()
      let id = user.flatMap { UserID($0) }
      guard user == nil || id != nil else { throw .invalid([DeviceResource.notAnID]) }
      return try response(.ok, await Devices.refresh(of: id, call.context), call)
    }
    let token = members.has("refresh_token") ? members.string("refresh_token") : nil
    try members.check()
    guard let token else { throw .invalidRefreshToken }
    return try response(.ok, await Sessions.refresh(token, call.context), call)
  }

  nonisolated static let reauthentication = "/v1/reauthenticate"

  private static func evidence(_ call: Call) throws(Failure) -> Evidence {
    switch call.json["provider"]?.string {
    case "password": .password(try call.strings("provider", "password")[1])
    case "jwt": .token(try call.strings("provider", "token")[1])
    case "api-key": .apiKey(try call.strings("provider", "key")[1])
    default: throw .invalid([IdentityResource.unknownProvider])
    }
  }

  nonisolated static func open(
    _ pattern: String,
    _ limit: Int,
    takes: Shape,
    gives: Answer...,
    refuses: [ProblemType],
    _ summary: String,
    _ handler: @escaping Route.Handler
  ) -> Operation {
    Operation(
      .post,
      pattern,
      access: .open,
      body: .json(limit: limit),
      takes: takes,
      gives: gives,
      refuses: refuses,
      summary: summary,
      handler
    )
  }

  /// Credentials that must keep the rules of new ones, all of which are told at once.
  private static func newCredentials(_ call: Call) throws(Failure) -> Credentials {
    var members = try Members(call.json, known: ["email", "password"])
    let credentials = Credentials(
      email: members.string("email"),
      password: members.string("password")
    )
    try members.check(credentials.faults(in: call.context.app))
    return credentials
  }

  static func credentials(_ call: Call) throws(Failure) -> Credentials {
    let members = try call.strings("email", "password")
    return Credentials(email: members[0], password: members[1])
  }

  /// Opens a session for who has proved who it is.
  private static func logIn(
    _ proof: Proof,
    _ call: Call,
    _ status: Status = .ok
  ) async throws(Failure) -> Response {
    try response(status, await Sessions.open(for: proof, call.context), call)
  }

  /// The tokens; a browser that holds its device in a cookie gets the access token alone.
  static func response(
    _ status: Status,
    _ grant: Sessions.Grant,
    _ call: Call
  ) throws(Failure) -> Response {
    var body = JSONObject()
    body["access_token"] = .string(grant.accessToken)
    let isBrowser = call.isOfBrowser
    if !isBrowser { body["refresh_token"] = .string(grant.refreshToken) }
    body["token_type"] = "Bearer"
    body["expires_in"] = .number(JSONNumber(Int(grant.lifetime.components.seconds)))
    body["user_id"] = .string(grant.user.text)
    body["device_id"] = .string(grant.device.text)
    if !isBrowser { body["device_secret"] = grant.deviceSecret.map(JSON.string) }
    var response = Response(status, json: JSON.object(body).serialized())
    if isBrowser, let secret = grant.deviceSecret {
      response.add(.setCookie, Cookie.setting(DeviceCookie.name, to: secret, for: cookieSeconds))
    }
    return response
  }

  /// 400 days, the longest that browsers keep one.
  private static let cookieSeconds = 34_560_000
}
