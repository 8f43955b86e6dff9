import EventLoop
import HTTP
import IdentitySubjects
import JSON
import Permissions
import Records
import Runtime
import Tenancy
import WireKit

/// `/api/v2/roles`: the roles of the app.
@EventLoop enum RoleRoutes {
  nonisolated static let path = "/api/v2/roles"

  nonisolated static let routes = [
    Route(.get, path, access: access("read"), summary: "List the roles") {
      call async throws(Failure) in
      let query = try call.query
      let page = try PageParameters(query)
      let part = (query["name_filter"] ?? "").lowercased().utf8
      let roles = try await RoleRecord.table.list(of: call.context.app.id, call.context)
        .filter { $0.name.lowercased().utf8.contains(part) }
      return page.response(roles, named: "roles", \.auth0JSON)
    },
    Route(
      .post, path, access: access("create"), body: .json(limit: 16_384), summary: "Create a role"
    ) { call async throws(Failure) in
      let body = try RoleBody(call.json)
      guard body.name != nil else { throw .invalid([.missingProperty("name")]) }
      let role = try await RoleRecord.create(body.members, in: call.context.app.id, call.context)
      return Response(.ok, json: role.auth0JSON.reporting(body.ignored).serialized())
    },
    Route(.get, "\(path)/{role}", access: access("read"), summary: "Read a role") {
      call async throws(Failure) in
      let app = call.context.app.id
      let role = try await RoleRecord.table.find(call.role().text, of: app, call.context)
      return Response(.ok, json: role.auth0JSON.serialized())
    },
    Route(
      .patch, "\(path)/{role}", access: access("update"), body: .json(limit: 16_384),
      summary: "Change a role"
    ) { call async throws(Failure) in
      let (app, body) = (call.context.app.id, try RoleBody(call.json))
      let role = try await RoleRecord.change(
        call.role().text, of: app, by: RecordPatch(body.members), if: VersionCondition(),
        call.context)
      return Response(.ok, json: role.auth0JSON.reporting(body.ignored).serialized())
    },
    Route(.delete, "\(path)/{role}", access: access("delete"), summary: "Delete a role") {
      call async throws(Failure) in
      try await RoleRecord.delete(call.role().text, of: call.context.app.id, call.context)
      return Response(.ok, json: JSONObject().serialized())
    },
  ]

  /// Returns the access for an action on roles.
  nonisolated static func access(_ action: String) -> Access {
    .management("\(action):roles")
  }
}

/// The body of a creation or a change of a role; null is as absent.
struct RoleBody {
  /// The attributes, by the names of their columns.
  private(set) var members = JSONObject()
  /// The members that this server lacks.
  private(set) var ignored: [String] = []

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSON) throws(Failure) {
    var reader = MemberReader()
    for (name, value) in try body.objectOfBody where value != .null {
      switch name {
      case "name", "description": members[name] = reader.string(name, value).map(JSON.string)
      // Back ends send what they have read.
      case "id", "ignored_members": break
      default: ignored.append(name)
      }
    }
    try reader.check()
  }

  var name: String? { members["name"]?.string }
}

extension Role {
  fileprivate var auth0JSON: JSON {
    .object(
      JSONObject([("id", .string(RoleName.prefix + key))] + RecordObject.members(of: self)))
  }
}

/// The ids of roles as Auth0's clients know them.
enum RoleName {
  static let prefix = "rol_"

  /// - Throws: `.roleNotFound` for a text of another form.
  static func id(_ text: String) throws(Failure) -> RoleID {
    guard text.utf8.starts(with: prefix.utf8),
      let id = RoleID(Substring(text.utf8.dropFirst(prefix.utf8.count)))
    else { throw .roleNotFound }
    return id
  }
}

extension Call {
  /// Returns the role of the path, which need not exist.
  ///
  /// - Throws: `.roleNotFound`.
  func role() throws(Failure) -> RoleID { try RoleName.id(text("role")) }
}

extension JSON {
  /// Returns the only member of a body: a list with at least one entry.
  ///
  /// - Throws: `.invalid`.
  func list(
    _ name: String, atMost limit: Int, _ type: String = "an array"
  ) throws(Failure) -> JSONArray {
    var (reader, list) = (MemberReader(), JSONArray?.none)
    for (member, value) in try objectOfBody {
      if member == name {
        list = reader.require(value.array, name, type)
      } else {
        reader.refuse(.unknownProperty(member))
      }
    }
    try reader.check()
    guard let list else { throw .invalid([.missingProperty(name)]) }
    guard (1...limit).contains(list.count) else {
      let rule = "This member must have 1 to \(limit) entries."
      throw .invalid([FieldError("/\(name)", "length", rule)])
    }
    return list
  }

  /// Returns the only member of a body: a list of texts with at least one.
  ///
  /// - Throws: `.invalid`.
  func texts(_ name: String, atMost limit: Int) throws(Failure) -> [String] {
    let type = "an array of strings"
    let entries = try list(name, atMost: limit, type)
    let texts = entries.compactMap(\.string)
    guard texts.count == entries.count else { throw .invalid([.wrongType("/\(name)", type)]) }
    return texts
  }
}

/// `/api/v2/roles/{role}/users`: the users of a role.
@EventLoop enum RoleMemberRoutes {
  private nonisolated static let path = "\(RoleRoutes.path)/{role}/users"
  private nonisolated static let fields = ["user_id", "email", "name", "picture"]
  /// The most users that one request gives a role.
  private nonisolated static let most = 500

  nonisolated static let routes = [
    Route(.get, path, access: readAccess, summary: "List the users of a role") {
      call async throws(Failure) in try await list(call)
    },
    Route(
      .post, path, access: .management("create:role_members", "update:roles"),
      body: .json(limit: 262_144), summary: "Give users a role"
    ) { call async throws(Failure) in
      let app = call.context.app.id
      let role = try await RoleRecord.table.find(call.role().text, of: app, call.context).id
      var users: [UserID] = []
      for id in try call.json.texts("users", atMost: most) {
        guard let user = try await ForeignIDs.user(of: id, call.context) else { throw .notFound }
        users.append(user)
      }
      for user in users { try await UserRoles.assign([role], to: user, call.context) }
      return Response(.ok, json: JSONObject().serialized())
    },
  ]

  /// Access to a list of users with their roles.
  nonisolated static let readAccess = Access.management(
    "read:role_members", orAll: [Scopes.readUsers, "read:roles"]
  )

  private static func list(_ call: Call) async throws(Failure) -> Response {
    let (query, role) = (try call.query, try call.role())
    guard query["take"] != nil || query["from"] != nil else {
      let page = try PageParameters(query)
      let needed = page.hasTotals ? PageParameters.records : page.start + page.size
      let all = try await Page<RoleMember>.items(atLeast: needed) { cursor async throws(Failure) in
        try await UserRoles.users(of: role, after: cursor, call.context)
      }.items
      let some = all.dropFirst(page.start).prefix(page.size)
      let users = try await shown(some, call)
      return Response(.ok, json: page.list(users, named: "users", total: all.count).serialized())
    }
    let part = try CheckpointParameters<Kinds.User>(query)
    let page = try await UserRoles.users(
      of: role, after: part.cursor, count: part.count, call.context
    )
    var body = JSONObject()
    body["users"] = .array(try await shown(page.items[...], call))
    body["next"] = page.next.map { .string($0.text) }
    return Response(.ok, json: body.serialized())
  }

  private static func shown(
    _ members: ArraySlice<RoleMember>, _ call: Call
  ) async throws(Failure) -> [JSON] {
    let selection = FieldSelection(only: fields)
    return try await UserListRoutes.shown(members.map(\.user), selection, call)
  }
}

/// `/api/v2/users/{user}/roles`: the roles of a user.
@EventLoop enum UserRoleRoutes {
  private nonisolated static let path = "\(UserRoutes.path)/{user}/roles"
  private nonisolated static let bodyLimit = 65_536

  nonisolated static let routes = [
    Route(.get, path, access: RoleMemberRoutes.readAccess, summary: "List the roles of a user") {
      call async throws(Failure) in
      let page = try PageParameters(call.query)
      let roles = try await UserRoles.list(of: call.managedUser(), call.context)
      return page.response(roles, named: "roles", \.auth0JSON)
    },
    Route(
      .post, path, access: .management(Scopes.updateUsers, "create:role_members"),
      body: .json(limit: bodyLimit), summary: "Give a user roles"
    ) { call async throws(Failure) in
      let (user, roles) = (try call.managedUser(), try roles(call))
      try await UserRoles.assign(roles, to: user, call.context)
      return Response(.noContent)
    },
    Route(
      .delete, path, access: .management(Scopes.updateUsers, "delete:role_members"),
      body: .json(limit: bodyLimit), summary: "Take roles from a user"
    ) { call async throws(Failure) in
      let (user, roles) = (try call.managedUser(), try roles(call))
      try await UserRoles.remove(roles, from: user, call.context)
      return Response(.noContent)
    },
  ]

  private static func roles(_ call: Call) throws(Failure) -> [RoleID] {
    var roles: [RoleID] = []
    for text in try call.json.texts("roles", atMost: RoleLimits.rolesOfUser) {
      roles.append(try RoleName.id(text))
    }
    return roles
  }
}

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
      let permissions = try await RolePermissions.list(of: call.role(), of: app, call.context)
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
      let (user, names) = (try call.managedUser(), try await names(call))
      try await UserPermissions.change(.add(names), of: user, call.context)
      return Response(.created, json: JSONObject().serialized())
    },
    Route(
      .delete, pathOfUser, access: .management(Scopes.updateUsers), body: .json(limit: bodyLimit),
      summary: "Take permissions from a user"
    ) { call async throws(Failure) in
      let (user, names) = (try call.managedUser(), try await names(call))
      try await UserPermissions.change(.remove(names), of: user, call.context)
      return Response(.noContent)
    },
  ]

  private static func changeRole(_ change: PermissionChange, _ call: Call) async throws(Failure) {
    let app = call.context.app.id
    try await RolePermissions.change(change, of: call.role(), of: app, call.context)
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
    let audience = ProvidedAPI.audience(of: identifier, at: call.issuer)
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
