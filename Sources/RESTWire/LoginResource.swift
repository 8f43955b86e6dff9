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
      reads: Fields("Nothing", "An object without members."),
      gives: .ok(.grant),
      refuses: [.wayInClosed, .tooManyAttempts, .deviceFull],
      "Make a user without credentials and log it in"
    ) {
      (call) async throws(Failure) in
      try await logIn(Users.proveNothing(call.context), call)
    },
    open(
      "/v1/register",
      4_096,
      reads: credentials.telling(faults),
      gives: .created(.grant, "The user is logged in."),
      .accepted(nil, "The address must be confirmed first."),
      refuses: [.wayInClosed, .emailTaken, .wrongCredentials, .tooManyAttempts, .deviceFull],
      "Log in with email address and password; without such a user make one"
    ) {
      (call, email, password) async throws(Failure) in
      let credentials = Credentials(email: email, password: password)
      guard let proof = try await Users.register(credentials, call.context) else {
        return Response(.accepted)
      }
      return try await logIn(proof, call, .created)
    },
    open(
      "/v1/login/password",
      4_096,
      reads: credentials,
      gives: .ok(.grant),
      refuses: [.wayInClosed, .wrongCredentials, .emailUnconfirmed, .tooManyAttempts, .deviceFull],
      "Log in with email address and password"
    ) {
      (call, email, password) async throws(Failure) in
      let credentials = Credentials(email: email, password: password)
      return try await logIn(Users.prove(credentials, call.context), call)
    },
    open(
      "/v1/login/jwt",
      20_000,
      reads: Fields("IssuerToken", "A token of one of the app's issuers.", .tokenOfIssuer),
      gives: .ok(.grant),
      refuses: [
        .wayInClosed, .wrongCredentials, .externalTokenInvalid, .issuerUnavailable, .deviceFull,
      ],
      "Log in with a token of one of the app's issuers"
    ) {
      (call, token) async throws(Failure) in
      try await logIn(TokenLogin.prove(token, call.context), call)
    },
    open(
      "/v1/login/api-key",
      1_024,
      reads: Fields("Key", "An API key.", .text("key", .keyOfUser)),
      gives: .ok(.grant),
      refuses: [.wayInClosed, .wrongCredentials, .deviceFull],
      "Log in with an API key"
    ) {
      (call, key) async throws(Failure) in
      try await logIn(APIKeys.prove(key, call.context), call)
    },
    open(
      "/v1/token/refresh",
      1_024,
      reads: exchange,
      gives: .ok(.grant.shown(as: Example.refreshed)),
      refuses: [.refreshTokenInvalid, .sessionEnded],
      "Exchange a refresh token, or the cookie of a device, for new tokens",
      refresh
    ),
    Operation(
      .post,
      reauthentication,
      access: .user(scope: Scopes.readUser, proof: .body),
      body: .json(limit: 20_000),
      reads: Variants(
        "Reauthentication",
        "What logs the user in.",
        byPassword,
        byToken,
        byKey
      ),
      gives: [.ok(.grant.shown(as: Example.refreshed))],
      refuses: [
        .wayInClosed, .wrongCredentials, .externalTokenInvalid, .issuerUnavailable,
        .tooManyAttempts,
      ],
      summary:
        "Prove anew who calls, by what logs in, and go on in a new session"
    ) { (call, evidence) async throws(Failure) in
      let grant = try await Sessions.reauthenticate(call.caller, by: evidence, call.context)
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

  private nonisolated static let credentials = Fields(
    "Credentials",
    "An email address and its password.",
    .text("email", .address),
    .text("password", .password)
  )

  /// What is wrong with credentials that must keep the rules of new ones.
  static func faults(
    _ call: Call,
    _ email: String,
    _ password: String
  ) throws(Failure) -> [Fault] {
    Credentials(email: email, password: password).faults(in: try call.context.app)
  }

  private nonisolated static let exchange = Fields(
    "Refresh",
    "What is exchanged for new tokens. Beside a cookie, user_id says whose; without, they are the "
      + "active user's.",
    .optional(.text("refresh_token", .text.saying("absent where a cookie is sent"))),
    .optional(.user("user_id"))
  )
  .like(["refresh_token": .string(Example.refreshToken)])

  /// By a cookie also for a user that is named.
  ///
  /// Who shows neither is to log in, as whoever shows what is of no more use: to a page these are one
  /// thing.
  private static func refresh(
    _ call: Call,
    _ token: String?,
    _ user: UserID?
  ) async throws(Failure) -> Response {
    if call.usesCookie {
      guard token == nil else { throw .invalid([Members.unknown("refresh_token")]) }
      return try response(.ok, await Devices.refresh(of: user, call.context), call)
    }
    guard user == nil else { throw .invalid([Members.unknown("user_id")]) }
    guard let token else { throw .invalidRefreshToken }
    return try response(.ok, await Sessions.refresh(token, call.context), call)
  }

  nonisolated static let reauthentication = "/v1/reauthenticate"

  private nonisolated static let byPassword = Variant(
    Fields(
      "PasswordEvidence",
      "The password of the user.",
      provider: "password",
      .text("password", .password)
    ),
    Evidence.password
  )
  private nonisolated static let byToken = Variant(IdentityResource.tokenOfIssuer, Evidence.token)
  private nonisolated static let byKey = Variant(
    Fields("KeyEvidence", "An API key of the user.", provider: "api-key", .text("key", .keyOfUser)),
    Evidence.apiKey
  )

  nonisolated static func open<each Value: Sendable>(
    _ pattern: String,
    _ limit: Int,
    reads fields: Fields<repeat each Value>,
    gives: Answer...,
    refuses: [ProblemType],
    _ summary: String,
    _ handler:
      @escaping @EventLoop @Sendable (Call, repeat each Value) async throws(Failure) -> Response
  ) -> Operation {
    Operation(
      .post,
      pattern,
      access: .open,
      body: .json(limit: limit),
      reads: fields,
      gives: gives,
      refuses: refuses,
      summary: summary,
      handler
    )
  }

  /// Opens a session for who has proved who it is.
  static func logIn(
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
    var body = JSONWriter()
    body.beginObject()
    body.member("access_token", grant.accessToken)
    let isBrowser = call.isOfBrowser
    if !isBrowser { body.member("refresh_token", grant.refreshToken) }
    body.member("token_type", "Bearer")
    body.key("expires_in")
    body.word(String(grant.lifetime.wholeSeconds))
    body.member("user_id", grant.user.text)
    body.member("device_id", grant.device.text)
    if !isBrowser, let secret = grant.deviceSecret { body.member("device_secret", secret) }
    body.endObject()
    var response = Response(status, json: body.bytes)
    if isBrowser, let secret = grant.deviceSecret {
      try call.set(deviceCookie: secret, in: &response)
    }
    return response
  }
}
