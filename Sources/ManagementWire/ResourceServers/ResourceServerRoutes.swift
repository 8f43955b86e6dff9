import Documents
import Encoding
import EventLoop
import HTTP
import JSON
import Records
import Runtime
import Tenancy
import WireKit

/// `/api/v2/resource-servers`: the APIs of an app.
@EventLoop enum ResourceServerRoutes {
  private nonisolated static let path = "/api/v2/resource-servers"
  private nonisolated static let bodyLimit = 262_144

  private nonisolated static func access(_ scope: String) -> Access {
    .management("\(scope):resource_servers")
  }

  nonisolated static let routes = [
    Route(.get, path, access: access("read"), summary: "List the APIs") {
      call async throws(Failure) in
      let query = try call.query(repeating: .only("identifiers"))
      let (page, selection) = (try PageParameters(query), try FieldSelection(query))
      let wanted = Set(
        query.all("identifiers").filter { !$0.isEmpty }.map {
          ByteString(ProvidedAPI.identifier(of: $0, at: call.issuer))
        }
      )
      let servers = try await ResourceServerRecord.table.list(of: call.context.app.id, call.context)
      let found = servers.filter { wanted.isEmpty || wanted.contains(ByteString($0.identifier)) }
      return page.response(found, named: "resource_servers") {
        selection.applied(to: ResourceServerObject.json($0, at: call.issuer))
      }
    },
    Route(
      .post, path, access: access("create"), body: .json(limit: bodyLimit),
      summary: "Create an API", create
    ),
    Route(.get, "\(path)/{resource_server}", access: access("read"), summary: "Read an API") {
      call async throws(Failure) in
      response(.ok, try await call.managedResourceServer(), call)
    },
    Route(
      .patch, "\(path)/{resource_server}", access: access("update"), body: .json(limit: bodyLimit),
      summary: "Change an API", change
    ),
    Route(
      .delete, "\(path)/{resource_server}", access: access("delete"),
      summary: "Delete an API with the grants of clients"
    ) { call async throws(Failure) in
      let server = try await call.managedResourceServer()
      try requireOwn(server)
      try await ResourceServerRecord.delete(server.key, of: call.context.app.id, call.context)
      return Response(.noContent)
    },
  ]

  private static func create(_ call: Call) async throws(Failure) -> Response {
    let body = try ResourceServerBody(call.json.objectOfBody)
    let app = call.context.app
    let members = try body.description { ProvidedAPI.identifier(of: $0, at: call.issuer) }
    // Each app has the APIs of this server already.
    try call.context.checkIdentifier(members["identifier"]?.string ?? "", of: app)
    let made = try await Failure.placing(RecordObject<ResourceServerRecord>.renamed) {
      () async throws(Failure) in
      try await ResourceServerRecord.create(members, in: app.id, call.context)
    }
    return response(.created, made, call, ignored: body.ignored)
  }

  private static func change(_ call: Call) async throws(Failure) -> Response {
    let server = try await call.managedResourceServer()
    try requireOwn(server)
    let body = try ResourceServerBody(call.json.objectOfBody)
    guard body.identifier == nil else {
      throw .invalid([FieldError("/identifier", "value", "The identifier cannot change.")])
    }
    let changed = try await Failure.placing(RecordObject<ResourceServerRecord>.renamed) {
      () async throws(Failure) in
      try await ResourceServerRecord.change(
        server.key, of: call.context.app.id, by: body.patch, if: VersionCondition(), call.context)
    }
    return response(.ok, changed, call, ignored: body.ignored)
  }

  /// - Throws: `.systemAPI` for an API that each app has.
  private static func requireOwn(_ record: ResourceServer) throws(Failure) {
    guard record.provided == nil else { throw .systemAPI }
  }

  private static func response(
    _ status: Status, _ record: ResourceServer, _ call: Call, ignored: [String] = []
  ) -> Response {
    let json = JSON.object(ResourceServerObject.json(record, at: call.issuer)).reporting(ignored)
    return Response(status, json: json.serialized())
  }
}

extension Call {
  /// Returns the API of the path, by its id or its identifier.
  ///
  /// - Throws: `.inexistentResourceServer`, `.databaseUnavailable`.
  func managedResourceServer() async throws(Failure) -> ResourceServer {
    try await managedResourceServer(text("resource_server"))
  }

  func managedResourceServer(_ name: String) async throws(Failure) -> ResourceServer {
    let app = context.app.id
    do throws(Failure) {
      if ResourceServerID(name) != nil {
        return try await ResourceServerRecord.table.find(name.lowercased(), of: app, context)
      }
      let found = try await ResourceServers.find(audience: name, at: issuer, of: app, context)
      guard let found else { throw .notFound }
      return found
    } catch .notFound {
      throw .inexistentResourceServer
    }
  }
}

extension Failure {
  static let inexistentResourceServer = Failure("inexistent_resource_server", .notFound)
    .titled("The resource server does not exist.")
    .remedied("Send its id, or its identifier in percent-encoding.")
  static let systemAPI = Failure("operation_not_supported", .forbidden)
    .titled("Each app has this API, which cannot be changed or deleted here.")
    .remedied("Create an API of your own, or change this one by dossier resource-server set.")
}

/// An API as the Management API shows it.
enum ResourceServerObject {
  /// Returns an API.
  static func json(_ record: ResourceServer, at issuer: String) -> JSONObject {
    let scopes = record.scopes.map { scope -> JSON in
      ["value": .string(scope.name), "description": .string(scope.description)]
    }
    var json = JSONObject([
      ("id", .string(record.key)), ("name", .string(record.name)),
      ("identifier", .string(ProvidedAPI.audience(of: record.identifier, at: issuer))),
      ("is_system", .bool(record.provided != nil)), ("scopes", .array(scopes)),
      ("signing_alg", "RS256"),
    ])
    for (name, value) in RecordObject.members(of: record) { json[name] = value }
    json["token_lifetime_for_web"] = json["token_lifetime"]
    return json
  }
}

/// The body of a creation or a change of an API.
struct ResourceServerBody {
  /// The attributes, by the names of their columns.
  private(set) var members = JSONObject()
  /// The members that this server lacks.
  private(set) var ignored: [String] = []
  private var reader = MemberReader()
  /// Nil if the body does not say.
  private var secondsForWeb: JSON?

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSONObject) throws(Failure) {
    for (name, value) in body { take(name, value) }
    // Auth0 has it for a flow that this server lacks.
    if let secondsForWeb, secondsForWeb != body["token_lifetime"] {
      ignored.append("token_lifetime_for_web")
    }
    try reader.check()
  }

  var identifier: String? { members["identifier"]?.string }

  /// The change by the body; its scopes replace all scopes before.
  var patch: RecordPatch { RecordPatch(members, replacing: ["scopes"]) }

  /// Returns the attributes of the API that a body describes.
  ///
  /// - Parameter stored: returns the stored form of an identifier.
  /// - Returns: the attributes.
  /// - Throws: `.invalid` without an identifier.
  func description(
    _ stored: (String) -> String = { $0 }
  ) throws(Failure) -> JSONObject {
    guard let identifier else { throw .invalid([.missingProperty("identifier")]) }
    var described = members
    described["identifier"] = .string(stored(identifier))
    described["name"] = members["name"] ?? .string(identifier.excerpt(100))
    return described
  }

  private mutating func take(_ member: String, _ value: JSON) {
    switch member {
    case "identifier", "name": members[member] = reader.string(member, value).map(JSON.string)
    case "scopes": takeScopes(value)
    case "token_lifetime_for_web": secondsForWeb = value
    case "signing_alg":
      if value != "RS256" { reader.refuse(member, "choice", "This member must be RS256.") }
    // Back ends send what they have read.
    case "ignored_members", "id", "is_system": break
    default:
      if let column = RecordObject<ResourceServerRecord>.column(of: member) {
        guard value != .null else { return reader.refuse(.wrongType("/\(member)", "a value")) }
        members[column.name] = value
      } else {
        ignored.append(member)
      }
    }
  }

  private mutating func takeScopes(_ value: JSON) {
    var scopes = JSONObject()
    for (index, scope) in (value.array ?? []).enumerated() {
      if let name = scope["value"]?.string {
        let description = scope["description"] ?? .null
        scopes[name] = description == .null ? "" : description
      } else {
        let rule = "Missing required property: value."
        reader.refuse(FieldError("/scopes/\(index)", "missing", rule))
      }
    }
    _ = reader.require(value.array, "scopes", "an array")
    members["scopes"] = .object(scopes)
  }
}
