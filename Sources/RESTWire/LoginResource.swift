import Declarations
import Delivery
import Tenancy
import Accounts
import Federation
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import Passkeys
import WireKit

/// `/v1/login`, `/v1/register`, `/v1/token/refresh` and `/v1/logout`.
@EventLoop enum LoginResource {
  nonisolated static let operations: [Operation] = [
    open(
      "/v1/login/anonymous",
      1_024,
      reads: Fields("Nothing", "An object without members."),
      gives: .ok(.grant),
      refuses: [.loginMethodDisabled, .signUpClosed, .tooManyAttempts, .deviceFull],
      "Create a user without credentials, and sign it in"
    ) {
      (call) async throws(Failure) in
      try await response(.ok, Users.signInAnonymously(call.context), call)
    },
    open(
      "/v1/register",
      4_096,
      reads: credentials.telling {
        Credentials(email: $1, password: $2).faults(in: $0.context.app)
      },
      gives: .created(.registration.shown(as: Example.tokens), "The user is signed in."),
      .accepted(.registration, "An emailed code completes the registration."),
      refuses: [
        .loginMethodDisabled, .signUpClosed, .emailTaken, .additionalFactorRequired,
        .tooManyAttempts,
        .mailNotConfigured, .deviceFull,
      ],
      "Register an email address and a password"
    ) {
      (call, email, password) async throws(Failure) in
      let credentials = Credentials(email: email, password: password)
      switch try await Users.register(credentials, call.context) {
      case .signedIn(let session): return try await response(.created, session, call)
      case .codeMailed(let flow): return EmailResource.response(flow)
      }
    },
    open(
      "/v1/login/password",
      4_096,
      reads: credentials,
      gives: .ok(.grant),
      refuses: [
        .loginMethodDisabled, .wrongCredentials, .additionalFactorRequired, .emailUnverified,
        .tooManyAttempts, .deviceFull,
      ],
      "Sign in with email address and password"
    ) {
      (call, email, password) async throws(Failure) in
      let credentials = Credentials(email: email, password: password)
      return try await response(.ok, Users.signIn(credentials, call.context), call)
    },
    open(
      "/v1/login/jwt",
      20_000,
      reads: Fields(
        "IssuerToken", "A token of one of the app's issuers or connections.", .tokenOfIssuer,
        .nonceOfToken),
      gives: .ok(.grant),
      refuses: [
        .loginMethodDisabled, .signUpClosed, .wrongCredentials, .additionalFactorRequired,
        .invalidExternalToken, .issuerUnavailable, .connectionUnavailable, .identityNotAllowed,
        .accountExists, .deviceFull,
      ],
      "Sign in with a token of one of the app's issuers or connections"
    ) {
      (call, token, nonce) async throws(Failure) in
      let session = try await NativeSignIn.signIn(
        by: token, for: nonce, as: .native, call.context)
      return try await response(.ok, session, call)
    },
    open(
      "/v1/login/api-key", 1_024, reads: Fields("Key", "An API key.", .text("key", .keyOfUser)),
      gives: .ok(.grant), refuses: [.loginMethodDisabled, .wrongCredentials, .deviceFull],
      "Sign in with an API key"
    ) {
      (call, key) async throws(Failure) in
      try await response(.ok, APIKeys.signIn(key, call.context), call)
    },
    open(
      "/v1/token/refresh", 1_024, reads: exchange, gives: .ok(.grant.shown(as: Example.refreshed)),
      refuses: [.invalidRefreshToken, .sessionEnded, .tooManyAttempts],
      "Exchange a refresh token or a device cookie for new tokens", refresh
    ),
    Operation(
      .post,
      reauthentication,
      access: .user(scope: Scopes.readUser, proof: .body),
      takes: .body(
        .json(limit: 32_768),
        Variants(
          "Reauthentication", "A credential of the user.", byPassword, byCode, byToken,
          byConnection, byKey, byPasskey
        )
      ),
      gives: [.ok(.grant)],
      refuses: [
        .loginMethodDisabled, .wrongCredentials, .invalidCode, .invalidExternalToken,
        .issuerUnavailable, .unknownConnection, .connectionFailed, .connectionUnavailable,
        .identityNotAllowed, .freshSignInUnproved, .tooManyAttempts, .passkeysOff, .passkeyInvalid,
        .passkeyUnknown, .passkeyFlowExpired, .userVerificationMissing,
      ],
      summary: "Authenticate again, and continue in a new session"
    ) { (call, evidence) async throws(Failure) in
      let session: OpenSession
      switch evidence {
      case .own(let credential):
        session = try await Sessions.reauthenticate(call.user, by: credential, call.context)
      case .token(let token, let nonce):
        session = try await NativeSignIn.reauthenticate(
          call.user, by: token, for: nonce, call.context)
      case .service(let credential):
        session = try await NativeSignIn.reauthenticate(call.user, by: credential, call.context)
      case .passkey(let flow, let credential):
        let passkey = try await Passkeys.shown(credential, flow, call.context)
        session = try await Sessions.reauthenticate(call.user, by: .passkey(passkey), call.context)
      }
      return try await response(.ok, session, call)
    },
    Operation(
      .post, "/v1/logout", access: .user(scope: Scopes.readUser), takes: .query(.next),
      gives: [.noContent], summary: "Sign the user out"
    ) { (call) async throws(Failure) in
      try await Sessions.logout(call.user, next: call.next, call.context)
      return Response(.noContent)
    },
  ]

  private nonisolated static let credentials = Fields(
    "Credentials", "An email address and its password.", .text("email", .address),
    .text("password", .password)
  )

  private nonisolated static let exchange = Fields(
    "Refresh",
    "A refresh token. With a cookie instead, user_id selects the user; the default is the active "
      + "user.",
    .optional(.text("refresh_token", .text.saying("absent if a cookie is sent"))),
    .optional(.user("user_id"))
  )
  .like(["refresh_token": .string(Example.refreshToken)])

  /// Refreshes by a token, or by a cookie for the active or the named user.
  ///
  /// Without either, the problem is that of an invalid token, since a page must sign in either way.
  private static func refresh(
    _ call: Call, _ token: String?, _ user: UserID?
  ) async throws(Failure) -> Response {
    if call.usesCookie {
      guard token == nil else { throw .invalid([MemberReader.unknown("refresh_token")]) }
      return try await response(.ok, Devices.refresh(of: user, call.context), call)
    }
    guard user == nil else { throw .invalid([MemberReader.unknown("user_id")]) }
    guard let token else { throw .invalidRefreshToken }
    return try await response(.ok, Sessions.refresh(token, call.context), call)
  }

  nonisolated static let reauthentication = "/v1/reauthenticate"

  /// A credential with which a user authenticates again.
  private enum Reauthentication {
    case own(ReauthenticationCredential)
    case token(String, nonce: String?)
    case service(ServiceCredential)
    case passkey(flow: String, JSON)
  }

  private nonisolated static let byPassword = Variant(
    Fields(
      "PasswordEvidence", "The password of the user.", provider: "password",
      .text("password", .password)
    )
  ) { Reauthentication.own(.password($0)) }
  nonisolated static let codeOfMail = Fields(
    "CodeEvidence", "A code from an email to the user's address.", provider: "email", .flow, .code
  )
  private nonisolated static let byCode = Variant(codeOfMail) {
    Reauthentication.own(.code($1, flow: $0))
  }
  private nonisolated static let byToken = Variant(IdentityResource.tokenOfIssuer) {
    Reauthentication.token($0, nonce: $1)
  }
  private nonisolated static let byConnection = Variant(
    ConnectionResource.body(
      "ConnectionEvidence",
      "A code or an ID token of a sign-in at a service that has just asked the user again.",
      provider: "connection")
  ) {
    Reauthentication.service($0)
  }
  private nonisolated static let byKey = Variant(
    Fields("KeyEvidence", "An API key of the user.", provider: "api-key", .text("key", .keyOfUser))
  ) { Reauthentication.own(.apiKey($0)) }

  private nonisolated static let byPasskey = Variant(
    Fields(
      "PasskeyEvidence", "The signature by a passkey of the user.", provider: "passkey",
      .passkeyFlow, .credential)
  ) { Reauthentication.passkey(flow: $0, $1) }

  nonisolated static func open<each Value: Sendable>(
    _ pattern: String,
    _ limit: Int,
    reads fields: Fields<repeat each Value>,
    gives: Answer...,
    refuses: [Failure],
    _ summary: String,
    _ handler:
      @escaping @EventLoop @Sendable (Call, repeat each Value) async throws(Failure) -> Response
  ) -> Operation {
    Operation(
      .post, pattern, access: .open, takes: .body(.json(limit: limit), fields), gives: gives,
      refuses: refuses, summary: summary, handler
    )
  }

  /// Returns the tokens of a session.
  ///
  /// If a cookie holds the device, the body has only the access token.
  static func response(
    _ status: Status, _ session: OpenSession, recoveryCodes: [String] = [], _ call: Call
  ) async throws(Failure) -> Response {
    let grant = try await session.tokens(call.context)
    var body = JSONWriter()
    body.beginObject()
    body.member("access_token", grant.accessToken)
    let isBrowser = call.isOfBrowser
    if !isBrowser { body.member("refresh_token", grant.refreshToken) }
    body.member("token_type", "Bearer")
    body.member("expires_in", grant.lifetime.wholeSeconds)
    body.member("user_id", grant.user.text)
    body.member("device_id", grant.device.text)
    let secret = session.deviceSecret
    if !isBrowser, let secret { body.member("device_secret", secret) }
    if !recoveryCodes.isEmpty {
      body.key("recovery_codes")
      body.value(.array(recoveryCodes.map(JSON.string)))
    }
    body.endObject()
    var response = Response(status, json: body.bytes)
    if isBrowser, let secret {
      try call.set(deviceCookie: secret, in: &response)
    }
    return response.sentOnce()
  }
}
