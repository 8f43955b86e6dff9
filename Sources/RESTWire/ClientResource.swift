import Declarations
import Representations
import Runtime
import Sessions
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/clients`, for the operator.
@EventLoop enum ClientResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/clients", access: .operator, takes: .query(.app), gives: [.ok(.clients)],
      summary: "List the clients of all apps, or of one"
    ) { (call) async throws(Failure) in
      let app = try await AuditResource.app(in: call)?.name
      return Response(.ok, list: try await Clients.list(of: app, call.context), \.summary)
    },
    Operation(
      .post,
      "/v1/clients",
      access: .operator,
      takes: .body(.json(limit: bodyLimit), described),
      gives: [.created(.clientWithSecret, "The client with its secret.", fields: [.location])],
      refuses: [.clientExists],
      summary: "Create a client, whose secret is returned only once",
      create
    ),
    Operation(
      .get, "/v1/clients/{client}", access: .operator, versions: .read, gives: [.ok(.client)],
      summary: "Read a client with the settings in force"
    ) { (call) async throws(Failure) in
      response(.ok, try await Clients.record(of: call.captured("client"), call.context))
    },
    Operation(
      .patch, "/v1/clients/{client}", access: .operator,
      takes: .body(.mergePatch(limit: bodyLimit), changed), versions: .write, gives: [.ok(.client)],
      summary: "Change a client, disable it, or enable it again", patch
    ),
    Operation(
      .delete, "/v1/clients/{client}", access: .operator, gives: [.noContent],
      summary: "Delete a client with its grants"
    ) { (call) async throws(Failure) in
      try await Clients.remove(call.captured("client"), call.context)
      return Response(.noContent)
    },
    Operation(
      .post, "/v1/clients/{client}/secret", access: .operator, gives: [.ok(.clientWithSecret)],
      refuses: [.publicClient],
      summary: "Replace the secret of a client; the old one is refused at once"
    ) { (call) async throws(Failure) in
      let (client, secret) = try await Clients.rotateSecret(
        of: call.captured("client"), call.context
      )
      return response(.ok, client, secret: secret)
    },
  ]

  /// In bytes: room for a hundred long URLs.
  private nonisolated static let bodyLimit = 262_144

  private nonisolated static let described = Fields(
    "ClientDescription",
    "A client to create.",
    .text("name", .nameOfClient),
    // A client with all rights needs an explicit null, so that an omission cannot create one.
    .textOrNull("app", .text.saying("null creates a client of the operator, for all apps")),
    .choice("kind", .kindOfClient, "kind", else: ClientKind.machine),
    .optional(.text("id", .idOfClient.saying("the id that it had at another server"))),
    .optional(.text("secret", .text.saying("the secret that it had there"))),
    .optional(.text("secret_sha256", .digest.saying("in place of secret, its SHA-256 digest"))),
    .optional(.texts("scopes", of: .choice(Scopes.management))),
    .optional(.object("settings", .clientSettingsPatch))
  ).like([
    "name": "nightly-report", "app": "adventure", "kind": "machine", "scopes": ["read:users"],
  ])

  private nonisolated static let changed = Fields(
    "ClientPatch", "Changes of a client.", .optional(.text("name", .nameOfClient)),
    .optional(.texts("scopes", of: .choice(Scopes.management))), .optional(.flag("disabled")),
    .optional(.object("settings", .clientSettingsPatch))
  ).like(["settings": ["callback_urls": ["https://app.example.com/callback"]]])

  private static func create(
    _ call: Call, _ name: String, _ app: String?, _ kind: ClientKind, _ id: String?,
    _ secret: String?, _ digest: String?, _ scopes: [String]?, _ settings: JSONObject?
  ) async throws(Failure) -> Response {
    guard secret == nil || digest == nil else {
      let rule = "Send either secret or secret_sha256."
      throw .invalid([FieldError("/secret_sha256", "secret", rule)])
    }
    let description = ClientDescription(
      name: name, app: app, kind: kind, id: id,
      secret: secret.map(GivenSecret.text) ?? digest.map(GivenSecret.digest), scopes: scopes ?? [],
      settings: settings ?? JSONObject()
    )
    let (client, secret) = try await Clients.create(description, call.context)
    var response = response(.created, client, secret: secret)
    response.add(.location, "/v1/clients/\(client.id)")
    return response
  }

  private static func patch(
    _ call: Call, _ name: String?, _ scopes: [String]?, _ isDisabled: Bool?, _ settings: JSONObject?
  ) async throws(Failure) -> Response {
    var change = ClientChange()
    (change.name, change.scopes, change.isDisabled) = (name, scopes, isDisabled)
    if let settings { change.settings = settings }
    let id: ClientID = try call.captured("client")
    let condition = try call.condition
    let client =
      if isDisabled == true {
        try await Clients.disable(id, with: change, if: condition, call.context)
      } else {
        try await Clients.change(id, change, if: condition, call.context)
      }
    return response(.ok, client)
  }

  private static func response(
    _ status: Status, _ client: ClientRecord, secret: String? = nil
  ) -> Response {
    let json = client.json(secret: secret)
    return Response(status, json: json.serialized(), tag: EntityTag(client.version))
  }
}
