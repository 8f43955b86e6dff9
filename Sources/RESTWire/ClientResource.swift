import Dossier
import EventLoop
import HTTP
import JSON
import Wiring

/// `/v1/clients`, for the operator.
@EventLoop enum ClientResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get,
      "/v1/clients",
      access: .operator,
      gives: [.ok(.clients)],
      summary: "List the clients of all apps"
    ) {
      (call) async throws(Failure) in
      let clients = try await Clients.list(of: nil, for: call.administrator)
      return Response(.ok, list: clients, \.json)
    },
    Operation(
      .post,
      "/v1/clients",
      access: .operator,
      body: .json(limit: 4_096),
      takes: .clientDescription,
      gives: [.created(.newClient, "The client with its key.")],
      summary: "Make a client, whose key is shown this once",
      create
    ),
    Operation(
      .patch,
      "/v1/clients/{client}",
      access: .operator,
      body: .mergePatch(limit: 1_024),
      takes: .disabling,
      gives: [.noContent],
      summary: "Disable a client, or enable it again"
    ) { (call) async throws(Failure) in
      var members = try Members(call.json, known: ["disabled"])
      let isDisabled = members.flag("disabled")
      try members.check()
      try await Clients.setDisabled(isDisabled, call.captured("client"), by: call.administrator)
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
      try await Clients.delete(call.captured("client"), by: call.administrator)
      return Response(.noContent)
    },
  ]

  /// `app` must be there: null, and not an omission, makes a client that may do everything.
  private static func create(_ call: Call) async throws(Failure) -> Response {
    var members = try Members(call.json, known: ["name", "app", "scopes"])
    let name = members.string("name")
    let app = members.stringOrNull("app")
    let scopes = members.has("scopes") ? members.strings("scopes") : []
    try members.check()
    let made = try await Clients.create(name, app: app, scopes: scopes, by: call.administrator)
    let body: JSON = [
      "id": .string(made.id.text), "app": app.map(JSON.string) ?? .null, "name": .string(name),
      "key": .string(made.key),
    ]
    return Response(.created, json: body.serialized())
  }
}
