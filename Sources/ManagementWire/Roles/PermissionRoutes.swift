import EventLoop
import HTTP
import JSON
import Runtime
import Sessions
import Tenancy
import WireKit

/// The permissions of a role, and those of a user.
@EventLoop enum PermissionRoutes {
  private nonisolated static let pathOfRole = "\(RoleRoutes.path)/{role}/permissions"
  private nonisolated static let pathOfUser = "\(UserRoutes.path)/{user}/permissions"
  /// In bytes: room for some hundred permissions with long identifiers.
  private nonisolated static let bodyLimit = 65_536

  nonisolated static let routes = ofRoles + ofUsers

  private nonisolated static let ofRoles = [
    Route(
      .get, pathOfRole, access: RoleRoutes.access("read"), summary: "List the permissions of a role"
    ) { call async throws(Failure) in
      let page = try PageParameters(call.query)
      let app = call.context.app.id
      let permissions = try await Roles.permissions(of: call.role(), of: app, call.context)
      return page.response(permissions, named: "permissions") { .object($0.json(call)) }
    },
    Route(
      .post, pathOfRole, access: RoleRoutes.access("update"), body: .json(limit: bodyLimit),
      summary: "Give a role permissions"
    ) { call async throws(Failure) in
      try await changeRole(.add(names(call)), call)
      return Response(.created, json: JSONObject().serialized())
    },
    Route(
      .delete, pathOfRole, access: RoleRoutes.access("update"), body: .json(limit: bodyLimit),
      summary: "Take permissions from a role"
    ) { call async throws(Failure) in
      try await changeRole(.remove(names(call)), call)
      return Response(.noContent)
    },
  ]

  private nonisolated static let ofUsers = [
    Route(
      .get, pathOfUser, access: .management(Scopes.readUsers),
      summary: "List the permissions of a user, with their sources"
    ) { call async throws(Failure) in
      let page = try PageParameters(call.query)
      let permissions = try await UserPermissions.list(of: call.managedUser(), call.context)
      return page.response(permissions, named: "permissions") { $0.jsonWithSources(call) }
    },
    Route(
      .post, pathOfUser, access: .management(Scopes.updateUsers), body: .json(limit: bodyLimit),
      summary: "Give a user permissions"
    ) { call async throws(Failure) in
      let (user, names) = (try await call.managedUser(), try await names(call))
      try await UserPermissions.change(.add(names), of: user, call.context)
      return Response(.created, json: JSONObject().serialized())
    },
    Route(
      .delete, pathOfUser, access: .management(Scopes.updateUsers), body: .json(limit: bodyLimit),
      summary: "Take permissions from a user"
    ) { call async throws(Failure) in
      let (user, names) = (try await call.managedUser(), try await names(call))
      try await UserPermissions.change(.remove(names), of: user, call.context)
      return Response(.noContent)
    },
  ]

  private static func changeRole(_ change: PermissionChange, _ call: Call) async throws(Failure) {
    let app = call.context.app.id
    try await Roles.changePermissions(change, of: call.role(), of: app, call.context)
  }

  /// Reads a list of permissions, each with the identifier of an API.
  ///
  /// - Throws: `.invalid` also for an API that the app lacks.
  private static func names(_ call: Call) async throws(Failure) -> [PermissionName] {
    var known: [String: ResourceServerID] = [:]
    var names: [PermissionName] = []
    for (index, reference) in try PermissionReference.list(call.json).enumerated() {
      let audience = reference.audience
      if known[audience] == nil {
        let server = try await ResourceServers.find(
          audience: audience, at: call.issuer, of: call.context.app.id, call.context
        )
        known[audience] = server?.id
      }
      guard let server = known[audience] else {
        let rule = "The app has no API with this identifier."
        throw .invalid([FieldError("/permissions/\(index)", "choice", rule)])
      }
      names.append(PermissionName(server, reference.scope))
    }
    return names
  }
}

/// A permission as clients name it.
struct PermissionReference {
  let audience: String
  let scope: String

  /// Reads the body of a change: a list with at least one permission.
  ///
  /// - Throws: `.invalid`.
  static func list(_ body: JSON) throws(Failure) -> [PermissionReference] {
    var references: [PermissionReference] = []
    for json in try body.list("permissions", atMost: RoleLimits.permissions) {
      references.append(try PermissionReference(json))
    }
    return references
  }

  init(_ json: JSON) throws(Failure) {
    var texts: [String: String] = [:]
    var reader = MemberReader()
    for (name, value) in try json.objectOfBody {
      switch name {
      case "resource_server_identifier", "permission_name":
        texts[name] = reader.string(name, value)
      // Back ends send what they have read.
      case "description", "resource_server_name", "sources": break
      default: reader.refuse(.unknownProperty(name))
      }
    }
    try reader.check()
    func text(_ name: String) throws(Failure) -> String {
      guard let text = texts[name] else { throw .invalid([.missingProperty(name)]) }
      return text
    }
    audience = try text("resource_server_identifier")
    scope = try text("permission_name")
  }
}

extension Permission {
  @EventLoop fileprivate func json(_ call: Call) -> JSONObject {
    let audience = ManagementAPI.audience(of: identifier, at: call.issuer)
    return JSONObject([
      ("permission_name", .string(scope)), ("description", .string(description)),
      ("resource_server_name", .string(serverName)),
      ("resource_server_identifier", .string(audience)),
    ])
  }

  @EventLoop fileprivate func jsonWithSources(_ call: Call) -> JSON {
    var json = json(call)
    json["sources"] = .array(
      sources.map { source in
        [
          "source_id": .string(source.role.map { RoleName.prefix + $0.text } ?? ""),
          "source_name": .string(source.name),
          "source_type": source.role == nil ? "DIRECT" : "ROLE",
        ]
      }
    )
    return .object(json)
  }
}
