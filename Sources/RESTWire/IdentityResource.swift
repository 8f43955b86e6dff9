import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/me/identities` and `/v1/me/api-keys`.
@EventLoop enum IdentityResource {
  nonisolated static let operations =
    [BasePath.meIdentities, .users].flatMap(operations) + [
      Operation(
        .post,
        "/v1/me/identities",
        access: .user(scope: Scopes.updateIdentities),
        body: .json(limit: 20_000),
        takes: .newIdentity,
        gives: [.ok(.identities, "The identities."), .created(.newAPIKey, "The API key.")],
        refuses: [
          .wayInClosed, .emailTaken, .identityTaken, .identityExists, .apiKeyLimit,
          .externalTokenInvalid, .issuerUnavailable, .tooManyAttempts,
        ],
        summary: "Link an identity: a password, a token of an issuer, or a new API key",
        link
      ),
      Operation(
        .get,
        "/v1/me/api-keys",
        access: .user(scope: Scopes.readUser),
        gives: [.ok(.apiKeys)],
        summary: "List the API keys"
      ) { (call) async throws(Failure) in
        Response(.ok, list: try await APIKeys.list(of: call.caller, call.context), \.json)
      },
      Operation(
        .post,
        "/v1/me/api-keys",
        access: .user(scope: Scopes.updateIdentities),
        body: .json(limit: 1_024),
        takes: .name,
        gives: [.created(.newAPIKey, "The API key.")],
        refuses: [.wayInClosed, .apiKeyLimit],
        summary: "Make an API key, which is shown this once"
      ) { (call) async throws(Failure) in
        try await makeKey(call.strings("name")[0], call)
      },
      Operation(
        .patch,
        "/v1/me/api-keys/{identity}",
        access: .user(scope: Scopes.updateIdentities),
        body: .mergePatch(limit: 1_024),
        takes: .disabling,
        gives: [.noContent],
        summary: "Disable an API key, or enable it again"
      ) { (call) async throws(Failure) in
        var members = try Members(call.json, known: ["disabled"])
        let isDisabled = members.flag("disabled")
        try members.check()
        try await APIKeys.setDisabled(
          isDisabled,
          call.captured("identity"),
          of: call.caller,
          call.context
        )
        return Response(.noContent)
      },
      Operation(
        .delete,
        "/v1/me/api-keys/{identity}",
        access: .user(scope: Scopes.updateIdentities),
        gives: [.noContent],
        refuses: [.lastIdentity],
        summary: "Delete an API key",
        unlink
      ),
    ]

  private nonisolated static func operations(_ base: BasePath) -> [Operation] {
    let pattern = "\(base.prefix)/identities"
    return [
      Operation(
        .get,
        pattern,
        access: base.read,
        gives: [.ok(.identities)],
        summary: "List the identities"
      ) {
        (call) async throws(Failure) in
        try await list(call)
      },
      Operation(
        .delete,
        "\(pattern)/{identity}",
        access: base.write,
        gives: [.noContent],
        refuses: [.lastIdentity],
        summary: "Unlink an identity; not the last one",
        unlink
      ),
    ]
  }

  static let unknownProvider = Fault(
    "/provider",
    "choice",
    "The provider is password, jwt or api-key."
  )

  private static func link(_ call: Call) async throws(Failure) -> Response {
    switch call.json["provider"]?.string {
    case "password":
      var members = try Members(call.json, known: ["provider", "email", "password"])
      let credentials = Credentials(
        email: members.string("email"),
        password: members.string("password")
      )
      try members.check(credentials.faults(in: call.context.app))
      try await Identities.linkPassword(credentials, to: call.caller, call.context)
    case "jwt":
      let token = try call.strings("provider", "token")[1]
      try await Identities.linkToken(token, to: call.caller, call.context)
    case "api-key": return try await makeKey(call.strings("provider", "name")[1], call)
    default: throw .invalid([unknownProvider])
    }
    return try await list(call)
  }

  private static func list(_ call: Call) async throws(Failure) -> Response {
    Response(.ok, list: try await Identities.list(of: call.caller, in: call.store), \.json)
  }

  private static func unlink(_ call: Call) async throws(Failure) -> Response {
    try await Identities.unlink(call.captured("identity"), from: call.caller, call.context)
    return Response(.noContent)
  }

  private static func makeKey(_ name: String, _ call: Call) async throws(Failure) -> Response {
    let made = try await APIKeys.make(name, for: call.caller, call.context)
    let body: JSON = [
      "id": .string(made.id.text), "name": .string(name), "key": .string(made.key),
    ]
    return Response(.created, json: body.serialized())
  }
}
