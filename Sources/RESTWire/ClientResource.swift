import Runtime
import Tenancy
import EventLoop
import HTTP
import JSON
import WireKit

/// `/v1/clients`, for the operator.
@EventLoop enum ClientResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/v1/clients",
      access: .operator,
      query: [.app],
      gives: [.ok(.clients)],
      summary: "List the clients of all apps, or of one"
    ) { (call) async throws(Failure) in
      let app = try await AuditResource.app(in: call)?.name
      return Response(.ok, list: try await Clients.list(of: app, call.context), \.json)
    },
    Operation(
      .post,
      "/v1/clients",
      access: .operator,
      body: .json(limit: 4_096),
      reads: Fields(
        "ClientDescription",
        "An API client to create.",
        .text("name", .nameOfClient),
        // A client with all rights needs an explicit null, so that an omission cannot create one.
        .textOrNull("app", .text.saying("null creates a client of the operator, for all apps")),
        .optional(.texts("scopes", of: .choice(Scopes.management)))
      ).like(["name": "nightly-report", "app": "adventure", "scopes": ["read:users"]]),
      gives: [.created(.newClient, "The client with its key.")],
      summary: "Create an API client, whose key is returned only once",
      create
    ),
    Operation(
      .patch,
      "/v1/clients/{client}",
      access: .operator,
      body: .mergePatch(limit: 1_024),
      reads: disabling,
      gives: [.noContent],
      summary: "Disable a client, or enable it again"
    ) { (call, isDisabled) async throws(Failure) in
      try await Clients.setDisabled(isDisabled, call.captured("client"), call.context)
      return Response(.noContent)
    },
    Operation(
      .delete,
      "/v1/clients/{client}",
      access: .operator,
      gives: [.noContent],
      summary: "Delete a client"
    ) {
      (call) async throws(Failure) in
      try await Clients.delete(call.captured("client"), call.context)
      return Response(.noContent)
    },
  ]

  nonisolated static let disabling = Fields(
    "Disabling",
    "Whether the client is disabled.",
    .flag("disabled")
  ).like(["disabled": true])

  private static func create(
    _ call: Call,
    _ name: String,
    _ app: String?,
    _ scopes: [String]?
  ) async throws(Failure) -> Response {
    let made = try await Clients.create(name, app: app, scopes: scopes ?? [], call.context)
    let body: JSON = [
      "id": .string(made.id.text), "app": app.map(JSON.string) ?? .null, "name": .string(name),
      "key": .string(made.key),
    ]
    return Response(.created, json: body.serialized())
  }
}
