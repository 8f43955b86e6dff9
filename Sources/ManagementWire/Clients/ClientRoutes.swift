import EventLoop
import HTTP
import JSON
import Records
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/api/v2/clients`: the applications of an app.
///
/// The secret of a client is stored as a hash. So only its creation and its rotation return it.
@EventLoop enum ClientRoutes {
  private nonisolated static let path = "/api/v2/clients"
  /// In bytes: room for a hundred long URLs.
  private nonisolated static let bodyLimit = 262_144

  nonisolated static let routes = [
    Route(
      .get, path, access: .management("read:clients", "read:client_keys"),
      summary: "List the clients"
    ) { call async throws(Failure) in
      let query = try call.query
      let (page, selection) = (try PageParameters(query), try FieldSelection(query))
      try query.refuse("q", "external_client_id")
      // No client is the global one of a tenant.
      let isGlobal = try query.flag("is_global") ?? false
      let isFirstParty = try query.flag("is_first_party")
      let types = (query["app_type"] ?? "").split(separator: ",")
      let clients = try await ClientRecord.table.list(of: call.context.app.id, call.context)
      let found = clients.filter { client in
        let isOfType = types.isEmpty || types.contains { $0 == client.kind.auth0Name }
        return !isGlobal && isOfType
          && isFirstParty.map { $0 == client.settings.isFirstParty } ?? true
      }
      return page.response(found, named: "clients") {
        selection.applied(to: ClientObject.json($0))
      }
    },
    Route(
      .post, path, access: .management("create:clients"), body: .json(limit: bodyLimit),
      issuesSecrets: true, summary: "Create a client", create
    ),
    Route(
      .get, "\(path)/{client}", access: .management("read:clients", "read:client_keys"),
      summary: "Read a client"
    ) { call async throws(Failure) in
      let selection = try FieldSelection(call.query)
      let json = selection.applied(to: ClientObject.json(try await call.managedClient()))
      return Response(.ok, json: json.serialized())
    },
    Route(
      .patch, "\(path)/{client}", access: .management("update:clients"),
      body: .json(limit: bodyLimit), summary: "Change a client", change
    ),
    Route(
      .delete, "\(path)/{client}", access: .management("delete:clients"),
      summary: "Delete a client with its grants"
    ) { call async throws(Failure) in
      try await ClientRecord.deleteEndingSessions(
        call.managedClient().key, of: call.context.app.id, call.context)
      return Response(.noContent)
    },
    Route(
      .post,
      "\(path)/{client}/rotate-secret",
      access: .management("update:client_keys"),
      // SDKs send an empty object, or nothing.
      body: .json(limit: 1_024).lenient(assuming: .json),
      issuesSecrets: true,
      summary: "Replace the secret of a client"
    ) { call async throws(Failure) in
      let client = try await ClientRecord.rotateSecret(
        of: call.managedClient().key, in: call.context.app.id, call.context)
      return response(.ok, client)
    },
  ]

  private static func create(_ call: Call) async throws(Failure) -> Response {
    let body = try ClientBody(call.json.objectOfBody).description()
    let client = try await Failure.placing(RecordObject<ClientRecord>.renamed) {
      () async throws(Failure) in
      try await ClientRecord.create(body.members, in: call.context.app.id, call.context)
    }
    return response(.created, client, body.secret, ignored: body.ignored)
  }

  private static func change(_ call: Call) async throws(Failure) -> Response {
    let before = try await call.managedClient()
    let body = try ClientBody(call.json.objectOfBody)
    try body.check(against: before)
    let client = try await Failure.placing(RecordObject<ClientRecord>.renamed) {
      () async throws(Failure) in
      try await ClientRecord.change(
        before.key, of: call.context.app.id, by: RecordPatch(body.members), if: VersionCondition(),
        call.context)
    }
    let ignored = body.ignored + body.remainingGrants(of: before.kind)
    return response(.ok, client, ignored: ignored)
  }

  private static func response(
    _ status: Status, _ client: StoredClient, _ secret: String? = nil, ignored: [String] = []
  ) -> Response {
    let json = JSON.object(ClientObject.json(client, secret: secret)).reporting(ignored)
    return Response(status, json: json.serialized())
  }
}

extension Call {
  /// Returns the client of the path.
  ///
  /// - Throws: `.inexistentClient`, `.databaseUnavailable`.
  func managedClient() async throws(Failure) -> StoredClient {
    try await context.client(text("client"))
  }
}

extension RequestContext {
  /// Returns a client of the app.
  ///
  /// - Throws: `.inexistentClient`, `.databaseUnavailable`.
  @EventLoop func client(_ id: String) async throws(Failure) -> StoredClient {
    do throws(Failure) {
      return try await ClientRecord.table.find(id, of: app.id, self)
    } catch .notFound {
      throw .inexistentClient
    }
  }
}

extension Failure {
  static let inexistentClient = Failure("inexistent_client", .notFound)
    .titled("The client does not exist.")
    .remedied("Compare client_id with the id of the application in this app.")
}
