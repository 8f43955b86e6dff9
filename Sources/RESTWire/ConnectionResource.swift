import Declarations
import Delivery
import EventLoop
import Federation
import HTTP
import JSON
import Runtime
import Tenancy
import WireKit
import Accounts
import OpenIDClient
import Records
import Sessions

/// `/v1/connections`: the services at which users sign in, and the sign-in by their codes.
@EventLoop enum ConnectionResource {
  /// The routes of apps.
  nonisolated static let ofApps: [Operation] = [
    Operation(
      .get, "/v1/connections/public", access: .open, gives: [.ok(publicList)],
      summary: "List the services at which users can sign in, for buttons"
    ) { (call) async throws(Failure) in
      Response(.ok, list: call.context.app.connections.all) { connection in
        [
          "name": .string(connection.key), "label": .string(connection.label),
          "preset": .string(connection.preset.name),
        ]
      }
    },
    LoginResource.open(
      "/v1/login/connection",
      32_768,
      reads: body(
        "ServiceCredential",
        "A code or an ID token that the SDK of a service has given to the app."),
      gives: .ok(.grant),
      refuses: [
        .unknownConnection, .invalidExternalToken, .connectionFailed, .connectionUnavailable,
        .identityNotAllowed, .tooManyAttempts,
        .accountExists, .signUpClosed, .wrongCredentials, .additionalFactorRequired, .deviceFull,
      ],
      "Sign in by a code or an ID token of the SDK of a service"
    ) { (call, credential) async throws(Failure) in
      let account = try await credential.account(call.context)
      return try await LoginResource.response(
        .ok, account.signIn(as: .native, call.context), call)
    },
  ]

  private nonisolated static let credential = Field.group(
    .text("connection", .slug.saying("the name of the connection").like(.string("google"))),
    .optional(.text("code", .text(1...4_096).saying("the code; absent with id_token"))),
    .optional(.text("id_token", .text(1...16_384).saying("the ID token; absent with code"))),
    .optional(.text("redirect_uri", .text(1...2_048).saying("that of the request for the code"))),
    .optional(.text("code_verifier", .text(43...128).saying("the secret of the code challenge"))),
    .optional(
      .text("nonce", .text(1...1_024).saying("that of the request, or what it is the SHA-256 of")))
  ) { connection, code, token, redirectURI, verifier, nonce in
    ServiceCredential(
      connection: connection, code: code, token: token, redirectURI: redirectURI,
      verifier: verifier, nonce: nonce)
  }

  /// Returns the body with such a credential, and with a member `provider` if there is one.
  nonisolated static func body(
    _ name: String, _ description: String, provider: String? = nil
  ) -> Fields<ServiceCredential> {
    var example = JSONObject()
    example["provider"] = provider.map(JSON.string)
    example["connection"] = "google"
    example["code"] = "4/0AVGzR1…"
    return Fields(name, description, provider: provider, credential)
      .telling { $1.faults }
      .like(.object(example))
  }

  /// The routes of the operator, beside those of each record.
  nonisolated static let ofOperators = [
    Operation(
      .post, "/v1/connections/{connection}/check", access: .operator, gives: [.ok(checks)],
      refuses: [.notFound],
      summary:
        "Check a connection: its settings, discovery, keys and token endpoint, without a user"
    ) { (call) async throws(Failure) in
      let app = try call.namedApp
      let connection = try await ConnectionRecord.table.find(
        call.text("connection"), of: app.id, call.context)
      let origin = call.context.mailer.pages?.origin(of: app)
      let check = try await ConnectionCheck.run(
        connection, of: origin.map { "\($0)/" }, call.context)
      return Response(.ok, json: check.json.serialized())
    }
  ]

  private nonisolated static let publicList = Shape.list(
    of: .object([
      "name": .slug.like("google"), "label": .text.saying("the name on its button").like("Google"),
      "preset": .text.saying("the kind of the service").like("google"),
    ]).named("PublicConnection", "A service at which users can sign in.")
  )

  private nonisolated static let checks = Shape.object([
    "redirect_uri": .text.orNull.saying(
      "the redirect URI to register at the service; null in an app without a host name"
    ).like("https://id.example.com/u/callback/google"),
    "backchannel_logout_uri": .text.orNull.saying(
      "the URI to register at a service that reports sign-outs; null for others"
    ).like("https://id.example.com/u/backchannel-logout/google"),
    "post_logout_redirect_uri": .text.orNull.saying(
      "the URI to register at a service that also signs users out; null for others"
    ).like("https://id.example.com/oidc/logout/done"),
    "checks": .list(
      of: .object([
        "check": .text.saying("what was checked").like("discovery"),
        "ok": .flag.saying("whether it is right").like(true),
        "detail": .text.like("https://accounts.google.com/.well-known/openid-configuration"),
      ]).named("ConnectionCheckLine", "A thing that was checked.")
    ).saying("what was checked"),
  ]).named("ConnectionCheck", "Whether users can sign in by a connection.")
}
