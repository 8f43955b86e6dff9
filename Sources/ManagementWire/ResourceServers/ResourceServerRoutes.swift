import Documents
import Encoding
import EventLoop
import HTTP
import JSON
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
      let query = try call.query(repeating: "identifiers")
      let (page, selection) = (try PageParameters(query), try FieldSelection(query))
      let wanted = Set(
        query.all("identifiers").filter { !$0.isEmpty }.map {
          ByteString(ManagementAPI.identifier(of: $0, at: call.issuer))
        }
      )
      let servers = try await ResourceServers.list(of: call.context.app.name, call.context)
      let found = servers.filter {
        wanted.isEmpty || wanted.contains(ByteString($0.server.identifier))
      }
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
      try await ResourceServers.delete(server.id, call.context)
      return Response(.noContent)
    },
  ]

  private static func create(_ call: Call) async throws(Failure) -> Response {
    let body = try ResourceServerBody(call.json.objectOfBody)
    let app = call.context.app
    let description = try body.description(in: app.name) {
      ManagementAPI.identifier(of: $0, at: call.issuer)
    }
    // Each app has the Management API already.
    try call.context.checkIdentifier(description.identifier, of: app)
    let made = try await ResourceServers.create(description, call.context)
    return response(.created, made, call, ignored: body.ignored)
  }

  private static func change(_ call: Call) async throws(Failure) -> Response {
    let server = try await call.managedResourceServer()
    try requireOwn(server)
    let body = try ResourceServerBody(call.json.objectOfBody)
    guard body.identifier == nil else {
      throw .invalid([FieldError("/identifier", "value", "The identifier cannot change.")])
    }
    let changed = try await ResourceServers.change(
      server.id, body.change, if: VersionCondition(), call.context
    )
    return response(.ok, changed, call, ignored: body.ignored)
  }

  /// - Throws: `.systemAPI` for the Management API itself.
  private static func requireOwn(_ record: ResourceServerRecord) throws(Failure) {
    guard !record.server.isManagementAPI else { throw Failure(.systemAPI) }
  }

  private static func response(
    _ status: Status, _ record: ResourceServerRecord, _ call: Call, ignored: [String] = []
  ) -> Response {
    let json = JSON.object(ResourceServerObject.json(record, at: call.issuer)).reporting(ignored)
    return Response(status, json: json.serialized())
  }
}

extension Call {
  /// Returns the API of the path, by its id or its identifier.
  ///
  /// - Throws: `.inexistentResourceServer`, `.databaseUnavailable`.
  func managedResourceServer() async throws(Failure) -> ResourceServerRecord {
    try await managedResourceServer(text("resource_server"))
  }

  func managedResourceServer(_ name: String) async throws(Failure) -> ResourceServerRecord {
    let app = context.app.id
    do throws(Failure) {
      var id = ResourceServerID(name)
      if id == nil {
        id = try await ResourceServers.find(audience: name, at: issuer, of: app, context)?.id
      }
      guard let id else { throw .notFound }
      let server = try await ResourceServers.record(of: id, context)
      guard server.appID == app else { throw .notFound }
      return server
    } catch .notFound {
      throw Failure(.inexistentResourceServer)
    }
  }
}

extension ErrorType {
  static let inexistentResourceServer = ErrorType("inexistent_resource_server", .notFound)
    .titled("The resource server does not exist.")
    .remedied("Send its id, or its identifier in percent-encoding.")
  /// The Management API is the same in each app.
  static let systemAPI = ErrorType("operation_not_supported", .forbidden)
    .titled("The Management API cannot be changed or deleted.")
    .remedied("Create an API of your own.")
}

/// An API as the Management API shows it.
enum ResourceServerObject {
  /// Returns an API.
  static func json(_ record: ResourceServerRecord, at issuer: String) -> JSONObject {
    let server = record.server
    let seconds = JSON.number(JSONNumber(Int(server.tokenLifetime.components.seconds)))
    let scopes = server.scopes.map { scope -> JSON in
      ["value": .string(scope.name), "description": .string(scope.description)]
    }
    return JSONObject([
      ("id", .string(server.id.text)), ("name", .string(server.name)),
      ("identifier", .string(ManagementAPI.audience(of: server.identifier, at: issuer))),
      ("is_system", .bool(server.isManagementAPI)), ("scopes", .array(scopes)),
      ("signing_alg", "RS256"), ("token_lifetime", seconds), ("token_lifetime_for_web", seconds),
      ("allow_offline_access", .bool(server.allowsOfflineAccess)),
      ("skip_consent_for_verifiable_first_party_clients", .bool(server.skipsConsent)),
      ("enforce_policies", .bool(server.enforcesPolicies)),
      ("token_dialect", .string(server.tokenDialect.rawValue)),
    ])
  }
}

/// The body of a creation or a change of an API.
struct ResourceServerBody {
  private(set) var change = ResourceServerChange()
  private(set) var identifier: String?
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

  /// Returns the API that a body describes.
  ///
  /// - Parameters:
  ///   - app: the name of its app.
  ///   - stored: returns the stored form of an identifier.
  /// - Returns: the API.
  /// - Throws: `.invalid` without an identifier.
  func description(
    in app: String, _ stored: (String) -> String = { $0 }
  ) throws(Failure) -> ResourceServerDescription {
    guard let identifier else { throw .invalid([.missingProperty("identifier")]) }
    return ResourceServerDescription(
      app: app, identifier: stored(identifier), name: change.name ?? identifier.excerpt(100), change
    )
  }

  private mutating func take(_ member: String, _ value: JSON) {
    switch member {
    case "identifier": identifier = reader.string(member, value)
    case "name": change.name = reader.string(member, value)
    case "scopes": takeScopes(value)
    case "token_lifetime":
      change.tokenSeconds = reader.require(value.number?.int, member, "a whole number")
    case "token_lifetime_for_web": secondsForWeb = value
    case "allow_offline_access": change.allowsOfflineAccess = reader.flag(member, value)
    case "skip_consent_for_verifiable_first_party_clients":
      change.skipsConsent = reader.flag(member, value)
    case "enforce_policies": change.enforcesPolicies = reader.flag(member, value)
    case "token_dialect":
      change.tokenDialect = value.string.flatMap(TokenDialect.init)
      if change.tokenDialect == nil {
        let names = TokenDialect.allCases.map(\.rawValue).joined(separator: " or ")
        reader.refuse(member, "choice", "This member must be \(names).")
      }
    case "signing_alg":
      if value != "RS256" { reader.refuse(member, "choice", "This member must be RS256.") }
    // Back ends send what they have read.
    case "ignored_members", "id", "is_system": break
    default: ignored.append(member)
    }
  }

  private mutating func takeScopes(_ value: JSON) {
    change.replacesScopes = true
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
    change.scopes = scopes
  }
}
