import EventLoop
import HTTP
import JSON
import Runtime
import Tenancy
import WireKit

/// `/api/v2/client-grants`: the scopes that clients get at APIs by their own secret.
@EventLoop enum ClientGrantRoutes {
  private nonisolated static let path = "/api/v2/client-grants"

  private nonisolated static func access(_ verb: String) -> Access {
    .bearer(.management(["\(verb):client_grants"]), proof: .session)
  }

  nonisolated static let routes = [
    Route(.get, path, access: access("read"), summary: "List the grants of clients") {
      call async throws(Failure) in
      let query = try call.query
      let page = try PageParameters(query)
      let (client, audience) = (query["client_id"] ?? "", query["audience"] ?? "")
      let id = ClientID(client)
      guard client.isEmpty || id != nil else { return page.response([], named: member) { $0 } }
      let identifier = ManagementAPI.identifier(of: audience, at: call.issuer)
      let grants = try await ClientGrants.list(ofClient: id, inApp: call.context).filter {
        audience.isEmpty || $0.grant.identifier.hasSameBytes(as: identifier)
      }
      return page.response(grants, named: member) { json($0, call) }
    },
    Route(
      .post,
      path,
      access: access("create"),
      body: .json(limit: 65_536),
      summary: "Grant a client scopes of an API",
      create
    ),
    Route(.get, "\(path)/{grant}", access: access("read"), summary: "Read a grant") {
      call async throws(Failure) in
      Response(.ok, json: json(try await grant(call), call).serialized())
    },
    Route(
      .patch,
      "\(path)/{grant}",
      access: access("update"),
      body: .json(limit: 65_536),
      summary: "Change the scopes of a grant"
    ) { call async throws(Failure) in
      let found = try await grant(call)
      let body = try call.json.objectOfBody
      try check(body, allowing: ["scope"])
      let changed = try await set(body, of: found.client, at: found.grant.server, call)
      return Response(.ok, json: changed.serialized())
    },
    Route(.delete, "\(path)/{grant}", access: access("delete"), summary: "Remove a grant") {
      call async throws(Failure) in
      let found = try await grant(call)
      try await ClientGrants.remove(of: found.client, at: found.grant.server, call.context)
      return Response(.noContent)
    },
  ]

  private nonisolated static let member = "client_grants"

  private static func create(_ call: Call) async throws(Failure) -> Response {
    let body = try call.json.objectOfBody
    try check(body, allowing: ["client_id", "audience", "scope"])
    let client = try await call.context.client(body["client_id"]?.string.flatMap { ClientID($0) })
    let server = try await call.managedResourceServer(body["audience"]?.string ?? "")
    let grants = try await ClientGrants.list(ofClient: client.id, inApp: call.context)
    guard !grants.contains(where: { $0.grant.server == server.id }) else {
      throw Failure(.grantExists)
    }
    let made = try await set(body, of: client.id, at: server.id, call)
    return Response(.created, json: made.serialized())
  }

  private static func set(
    _ body: JSONObject,
    of client: ClientID,
    at server: ResourceServerID,
    _ call: Call
  ) async throws(Failure) -> JSON {
    let scopes = body["scope"]?.array?.compactMap(\.string) ?? []
    guard scopes.count == body["scope"]?.array?.count else {
      throw .invalid([Fault("/scope", "type", "This member is a list of strings.")])
    }
    let (grant, _) = try await ClientGrants.set(scopes, of: client, at: server, call.context)
    return json(client, grant, call)
  }

  private static func check(
    _ body: JSONObject,
    allowing names: [String]
  ) throws(Failure) {
    for name in body.keys where !names.contains(name) {
      let detail = "Additional properties not allowed."
      throw .invalid([Fault("/\(JSONPointer.escaped(name))", "unknown_member", detail)])
    }
  }

  // MARK: The id of a grant: those of its client and of its API

  private nonisolated static let prefix = "cgr_"
  private nonisolated static let length = 24

  private static func grant(_ call: Call) async throws(Failure) -> AppGrant {
    let text = call.text("grant").utf8
    let ids = text.dropFirst(prefix.utf8.count)
    guard text.starts(with: prefix.utf8), ids.count == 2 * length,
      let client = ClientID(String(decoding: ids.prefix(length), as: UTF8.self)),
      let server = ResourceServerID(String(decoding: ids.suffix(length), as: UTF8.self)),
      let found = try await ClientGrants.list(ofClient: client, inApp: call.context).first(
        where: { $0.grant.server == server }
      )
    else { throw Failure(.inexistentGrant) }
    return found
  }

  private static func json(_ found: AppGrant, _ call: Call) -> JSON {
    json(found.client, found.grant, call)
  }

  private static func json(_ client: ClientID, _ grant: ClientGrant, _ call: Call) -> JSON {
    [
      "id": .string("\(prefix)\(client)\(grant.server)"), "client_id": .string(client.text),
      "audience": .string(ManagementAPI.audience(of: grant.identifier, at: call.issuer)),
      "scope": .array(grant.scopes.map(JSON.string)),
    ]
  }
}

extension ErrorType {
  static let inexistentGrant = ErrorType("inexistent_client_grant", .notFound)
    .titled("The client grant does not exist.")
    .remedied("Compare the id with the list of grants.")
  static let grantExists = ErrorType("client_grant_exists", .conflict)
    .titled("The client already has a grant for the API.")
    .remedied("Change the scopes of the grant.")
}
