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
    .management("\(verb):client_grants")
  }

  nonisolated static let routes = [
    Route(.get, path, access: access("read"), summary: "List the grants of clients") {
      call async throws(Failure) in
      try await list(call)
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

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let query = try call.query
    try query.refuse("subject_type", "allow_any_organization", "default_for")
    let (client, audience) = (query["client_id"] ?? "", query["audience"] ?? "")
    let (id, hasClient) = (ClientID(client), !client.isEmpty)
    let identifier = ManagementAPI.identifier(of: audience, at: call.issuer)
    let all =
      hasClient && id == nil
      ? [] : try await ClientGrants.list(ofClient: id, inApp: call.context)
    let grants = all.filter {
      audience.isEmpty || $0.grant.identifier.hasSameBytes(as: identifier)
    }
    guard query["take"] != nil || query["from"] != nil else {
      return try PageParameters(query).response(grants, named: member) { json($0, call) }
    }
    // The list is in the order of the ids.
    let from = query["from"] ?? ""
    let count = try query.number("take", in: PageParameters.sizes, usual: 50)
    let rest = grants.drop { !from.isEmpty && !from.utf8.lexicographicallyPrecedes(name($0).utf8) }
    let page = rest.prefix(count)
    var body = JSONObject()
    body[member] = .array(page.map { json($0, call) })
    body["next"] = page.count < rest.count ? page.last.map { .string(name($0)) } : nil
    return Response(.ok, json: body.serialized())
  }

  private static func create(_ call: Call) async throws(Failure) -> Response {
    let body = try call.json.objectOfBody
    try check(body, allowing: ["client_id", "audience", "scope"])
    let client = try await call.context.client(body["client_id"]?.string.flatMap { ClientID($0) })
    let server = try await call.managedResourceServer(body["audience"]?.string ?? "")
    let made = try await set(body, of: client.id, at: server.id, isNew: true, call)
    return Response(.created, json: made.serialized())
  }

  private static func set(
    _ body: JSONObject,
    of client: ClientID,
    at server: ResourceServerID,
    isNew: Bool = false,
    _ call: Call
  ) async throws(Failure) -> JSON {
    let scopes = body["scope"]?.array?.compactMap(\.string) ?? []
    guard scopes.count == body["scope"]?.array?.count else {
      throw .invalid([.wrongType("/scope", "an array of strings")])
    }
    let (grant, _) = try await Failure.placing(renamed) { () async throws(Failure) in
      try await ClientGrants.set(
        scopes,
        of: client,
        at: server,
        mustBeNew: isNew,
        call.context
      )
    }
    return json(client, grant, call)
  }

  /// Returns the place of a fault of the domain as the API names it.
  private nonisolated static func renamed(_ place: String) -> String {
    place.hasPrefix("/scopes") ? "/scope\(place.dropFirst(7))" : place
  }

  private static func check(
    _ body: JSONObject,
    allowing names: [String]
  ) throws(Failure) {
    let faults = body.keys.filter { !names.contains($0) }.map(FieldError.unknownProperty)
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  // MARK: The id of a grant: those of its client and of its API

  private nonisolated static let prefix = "cgr_"
  /// The length of the id of an API, which comes last.
  private nonisolated static let length = 24

  private static func grant(_ call: Call) async throws(Failure) -> AppGrant {
    let text = call.text("grant").utf8
    let ids = text.dropFirst(prefix.utf8.count)
    guard text.starts(with: prefix.utf8),
      let client = ClientID(String(decoding: ids.dropLast(length), as: UTF8.self)),
      let server = ResourceServerID(String(decoding: ids.suffix(length), as: UTF8.self)),
      let found = try await ClientGrants.list(ofClient: client, inApp: call.context).first(
        where: { $0.grant.server == server }
      )
    else { throw Failure(.inexistentGrant) }
    return found
  }

  private static func name(_ found: AppGrant) -> String { name(found.client, found.grant) }

  private static func name(_ client: ClientID, _ grant: ClientGrant) -> String {
    "\(prefix)\(client)\(grant.server)"
  }

  private static func json(_ found: AppGrant, _ call: Call) -> JSON {
    json(found.client, found.grant, call)
  }

  private static func json(_ client: ClientID, _ grant: ClientGrant, _ call: Call) -> JSON {
    [
      "id": .string(name(client, grant)), "client_id": .string(client.text),
      "audience": .string(ManagementAPI.audience(of: grant.identifier, at: call.issuer)),
      "scope": .array(grant.scopes.map(JSON.string)),
    ]
  }
}

extension ErrorType {
  static let inexistentGrant = ErrorType("inexistent_client_grant", .notFound)
    .titled("The client grant does not exist.")
    .remedied("Compare the id with the list of grants.")
}
