import EventLoop
import HTTP
import JSON
import Records
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
      .post, path, access: access("create"), body: .json(limit: 65_536),
      summary: "Grant a client scopes of an API", create
    ),
    Route(.get, "\(path)/{grant}", access: access("read"), summary: "Read a grant") {
      call async throws(Failure) in
      Response(.ok, json: json(try await grant(call), call).serialized())
    },
    Route(
      .patch, "\(path)/{grant}", access: access("update"), body: .json(limit: 65_536),
      summary: "Change the scopes of a grant"
    ) { call async throws(Failure) in
      let found = try await grant(call)
      // A change names the scopes alone, but tools also send what they have read.
      let before = json(found, call).object ?? JSONObject()
      let body = try ClientGrantBody(before.merging(call.json.objectOfBody))
      for (name, value) in [("client_id", body.client), ("audience", body.audience)]
      where before[name] != .string(value) {
        throw .invalid([FieldError("/\(name)", "value", "This member of a grant cannot change.")])
      }
      return try await set(.ok, body, of: found.client, at: found.grant.server, call)
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
    let identifier = ProvidedAPI.identifier(of: audience, at: call.issuer)
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
    let body = try ClientGrantBody(call.json.objectOfBody)
    let client = try await call.context.client(body.client)
    let server = try await call.managedResourceServer(body.audience)
    return try await set(.created, body, of: client.id, at: server.id, isNew: true, call)
  }

  private static func set(
    _ status: Status, _ body: ClientGrantBody, of client: ClientID, at server: ResourceServerID,
    isNew: Bool = false, _ call: Call
  ) async throws(Failure) -> Response {
    let (grant, _) = try await Failure.placing(renamed) { () async throws(Failure) in
      try await ClientGrants.set(
        body.scopes, of: client, at: server, mustBeNew: isNew, call.context
      )
    }
    return Response(status, json: json(client, grant, call).reporting(body.ignored).serialized())
  }

  /// Returns the place of a fault of the domain as the API names it.
  private nonisolated static func renamed(_ place: String) -> String {
    place.hasPrefix("/scopes") ? "/scope\(place.dropFirst(7))" : place
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
    else { throw .inexistentGrant }
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
      "audience": .string(ProvidedAPI.audience(of: grant.identifier, at: call.issuer)),
      "scope": .array(grant.scopes.map(JSON.string)),
    ]
  }
}

/// The body of a creation or a change of a grant.
struct ClientGrantBody {
  private(set) var client = ""
  private(set) var audience = ""
  private(set) var scopes: [String] = []
  /// The members that this server lacks.
  private(set) var ignored: [String] = []

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    var reader = MemberReader()
    for (name, value) in body where value != .null {
      switch name {
      case "client_id": client = reader.string(name, value) ?? ""
      case "audience": audience = reader.string(name, value) ?? ""
      case "scope": scopes = reader.strings(name, value) ?? []
      // A grant of a user, or of an organization, allows less than one of the client itself.
      case "subject_type" where value != "client",
        "organization_usage" where value != "deny" && value != "allow":
        reader.refuse(name, "choice", "A grant is for the client itself.")
      // Back ends send what they have read.
      case "id", "ignored_members", "subject_type", "organization_usage": break
      default: ignored.append(name)
      }
    }
    if body["scope"] ?? .null == .null { reader.refuse(.missingProperty("scope")) }
    try reader.check()
  }
}

extension Failure {
  static let inexistentGrant = Failure("inexistent_client_grant", .notFound)
    .titled("The client grant does not exist.")
    .remedied("Compare the id with the list of grants.")
}
