import Records
import Declarations
import Representations
import Tenancy
import Accounts
import Federation
import Delivery
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/me/identities` and `/v1/me/api-keys`.
@EventLoop enum IdentityResource {
  nonisolated static let operations =
    [BasePath.meIdentities, .users].flatMap(operations) + [
      Operation(
        .post,
        "/v1/me/identities",
        access: .user(scope: Scopes.updateIdentities),
        takes: .body(
          .json(limit: 32_768),
          Variants(
            "NewIdentity", "An identity to link.", newPassword, newCode, newToken, newConnection,
            newKey, newPending)
        ),
        gives: [
          .ok(.linked.shown(as: Example.tokens), "The tokens of a new session."),
          .created(.linked.shown(as: Example.newAPIKey), "The API key."),
          .accepted(
            .linked.shown(as: ["flow": .string(Example.flow), "expires_in": 600]),
            "An emailed code completes the link."
          ),
        ],
        refuses: [
          .loginMethodDisabled, .emailTaken, .identityTaken, .identityExists, .emailRestorePending,
          .tooManyAPIKeys, .invalidExternalToken, .issuerUnavailable, .tooManyAttempts,
          .invalidCode, .mailNotConfigured, .additionalFactorRequired, .connectionUnavailable,
          .identityNotAllowed, .pendingIdentityInvalid, .tooManyIdentities, .unknownConnection,
          .connectionFailed,
        ],
        summary:
          "Link an identity: a password, an issuer's token, an account at the service of a "
          + "connection, one that waits for its owner or a new API key",
        link
      ),
      Operation(
        .get, "/v1/me/api-keys", access: .user(scope: Scopes.readUser), gives: [.ok(.apiKeys)],
        summary: "List the API keys"
      ) { (call) async throws(Failure) in
        Response(.ok, list: try await APIKeys.list(of: call.user, call.context), \.json)
      },
      Operation(
        .post,
        "/v1/me/api-keys",
        access: .user(scope: Scopes.updateIdentities),
        takes: .body(
          .json(limit: 1_024),
          Fields("KeyName", "The name of an API key.", .text("name", .nameOfKey))
        ),
        gives: [.created(.newAPIKey, "The API key.")],
        refuses: [.loginMethodDisabled, .tooManyAPIKeys],
        summary: "Create an API key, which is returned only once"
      ) { (call, name) async throws(Failure) in
        try await makeKey(name, call)
      },
      Operation(
        .patch, "/v1/me/api-keys/{identity}", access: .user(scope: Scopes.updateIdentities),
        takes: .body(.mergePatch(limit: 1_024), disabling), gives: [.noContent],
        summary: "Disable an API key, or enable it again"
      ) { (call, isDisabled) async throws(Failure) in
        try await APIKeys.setDisabled(
          isDisabled, call.captured("identity"), of: call.user, call.context
        )
        return Response(.noContent)
      },
      Operation(
        .delete, "/v1/me/api-keys/{identity}", access: .user(scope: Scopes.updateIdentities),
        gives: [.noContent], refuses: [.lastIdentity], summary: "Delete an API key", unlink
      ),
    ]

  private nonisolated static func operations(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/identities"
    return [
      Operation(
        .get, pattern, access: base.read, gives: [.ok(.identities)], summary: "List the identities"
      ) {
        (call) async throws(Failure) in
        try await list(call)
      }.viewing(.identities),
      Operation(
        .delete, "\(pattern)/{identity}", access: base.write, gives: [.noContent],
        refuses: [.lastIdentity], summary: "Unlink an identity, except the last one", unlink
      ).needing(stepUp: true),
    ]
  }

  /// An identity to link.
  private enum NewIdentity {
    case password(Credentials)
    case code(String, flow: String)
    case token(String, nonce: String?)
    case service(ServiceCredential)
    case apiKey(name: String)
    case pending(flow: String)
  }

  private nonisolated static let newPassword = Variant(
    Fields(
      "NewPassword", "An email address and a password to sign in with.", provider: "password",
      .text("email", .address), .text("password", .password)
    ).telling { Credentials(email: $1, password: $2).faults(in: $0.context.app) }
  ) { NewIdentity.password(Credentials(email: $0, password: $1)) }

  private nonisolated static let newCode = Variant(LoginResource.codeOfMail) {
    NewIdentity.code($1, flow: $0)
  }

  private nonisolated static let newToken = Variant(tokenOfIssuer) {
    NewIdentity.token($0, nonce: $1)
  }

  private nonisolated static let newConnection = Variant(
    ConnectionResource.body(
      "NewConnectionIdentity",
      "A code or an ID token of the service of a connection, that its SDK has given to the app.",
      provider: "connection")
  ) { NewIdentity.service($0) }

  private nonisolated static let newKey = Variant(
    Fields("NewKey", "An API key to create.", provider: "api-key", .text("name", .nameOfKey))
  ) { NewIdentity.apiKey(name: $0) }

  private nonisolated static let newPending = Variant(
    Fields(
      "PendingIdentity",
      "An account at a service whose address the user has: the flow of the error account_exists.",
      provider: "pending",
      .text(
        "flow", .text(1...16_384).saying("that of the error").like(.string(Example.flow)))
    )
  ) { NewIdentity.pending(flow: $0) }

  nonisolated static let tokenOfIssuer = Fields(
    "TokenEvidence", "A token of one of the app's issuers or connections.", provider: "jwt",
    .tokenOfIssuer, .nonceOfToken
  )

  private static func link(
    _ call: Call, _ identity: NewIdentity
  ) async throws(Failure) -> Response {
    switch identity {
    case .password(let credentials):
      let linked = try await Identities.linkPassword(
        credentials, to: call.user, as: .native, call.context
      )
      switch linked {
      case .signedIn(let session): return try await LoginResource.response(.ok, session, call)
      case .codeMailed(let flow): return EmailResource.response(flow)
      }
    case .code(let code, let flow):
      let session = try await Identities.linkPassword(
        by: code, flow, to: call.user, as: .native, call.context
      )
      return try await LoginResource.response(.ok, session, call)
    case .token(let token, let nonce):
      let session = try await NativeSignIn.link(
        token, for: nonce, to: call.user, as: .native, call.context)
      return try await response(to: session, call)
    case .service(let credential):
      try await call.context.requireSession(of: call.user)
      let account = try await credential.account(call.context)
      let session = try await account.link(to: call.user, as: .native, call.context)
      return try await response(to: session, call)
    case .apiKey(let name): return try await makeKey(name, call)
    case .pending(let flow):
      return try await response(to: try await linkPending(flow, call), call)
    }
  }

  /// Returns the tokens of the session of a link, which has one for the style of this wire.
  private static func response(
    to session: OpenSession?, _ call: Call
  ) async throws(Failure) -> Response {
    guard let session else { throw .internalError(reason: "a link has made no session") }
    return try await LoginResource.response(.ok, session, call)
  }

  private static func linkPending(
    _ flow: String, _ call: Call
  ) async throws(Failure) -> OpenSession? {
    guard let pending = PendingIdentity(flow, call.context) else { throw .pendingIdentityInvalid }
    do throws(Failure) {
      return try await pending.link(to: call.user, as: .native, call.context)
    } catch .wrongCredentials {
      // The flow is of the user who has the address.
      throw .pendingIdentityInvalid
    }
  }

  private nonisolated static let disabling = Fields(
    "Disabling", "Whether the API key is disabled.", .flag("disabled")
  ).like(["disabled": true])

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let identities = try await Identities.list(of: call.user, call.context)
    return Response(.ok, list: identities) { $0.json(in: call.context.app) }
  }

  private static func unlink(_ call: Call) async throws(Failure) -> Response {
    try await Identities.unlink(call.captured("identity"), from: call.user, call.context)
    return Response(.noContent)
  }

  private static func makeKey(_ name: String, _ call: Call) async throws(Failure) -> Response {
    let made = try await APIKeys.make(name, for: call.user, call.context)
    let body: JSON = ["id": .string(made.id.text), "name": .string(name), "key": .string(made.key)]
    return Response(.created, json: body.serialized())
  }
}
