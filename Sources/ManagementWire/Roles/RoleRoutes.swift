import EventLoop
import HTTP
import JSON
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
      let part = query["name_filter"].flatMap { $0.isEmpty ? nil : $0 }
      let roles = try await Roles.list(of: call.context.app.id, named: part, call.context)
      return page.response(roles, named: "roles", \.json)
    },
    Route(
      .post, path, access: access("create"), body: .json(limit: 16_384), summary: "Create a role"
    ) { call async throws(Failure) in
      let body = try RoleBody(call.json)
      let change = body.change
      guard let name = change.name else { throw .invalid([.missingProperty("name")]) }
      let description = change.description ?? ""
      let app = call.context.app
      let role = try await Roles.create(name, description, of: app, call.context)
      return Response(.ok, json: role.json.reporting(body.ignored).serialized())
    },
    Route(.get, "\(path)/{role}", access: access("read"), summary: "Read a role") {
      call async throws(Failure) in
      let role = try await Roles.find(call.role(), of: call.context.app.id, call.context)
      return Response(.ok, json: role.json.serialized())
    },
    Route(
      .patch, "\(path)/{role}", access: access("update"), body: .json(limit: 16_384),
      summary: "Change a role"
    ) { call async throws(Failure) in
      let (app, body) = (call.context.app.id, try RoleBody(call.json))
      let role = try await Roles.change(call.role(), body.change, of: app, call.context)
      return Response(.ok, json: role.json.reporting(body.ignored).serialized())
    },
    Route(.delete, "\(path)/{role}", access: access("delete"), summary: "Delete a role") {
      call async throws(Failure) in
      try await Roles.delete(call.role(), of: call.context.app.id, call.context)
      return Response(.ok, json: JSONObject().serialized())
    },
  ]

  /// Returns the access for an action on roles.
  nonisolated static func access(_ action: String) -> Access {
    .management("\(action):roles")
  }
}

/// The body of a creation or a change of a role: a name and a description; null is as absent.
struct RoleBody {
  private(set) var change = RoleChange(name: nil, description: nil)
  /// The members that this server lacks.
  private(set) var ignored: [String] = []

  /// - Throws: `.invalid` with every fault.
  init(_ body: JSON) throws(Failure) {
    var reader = MemberReader()
    for (name, value) in try body.objectOfBody where value != .null {
      switch name {
      case "name": change.name = reader.string(name, value)
      case "description": change.description = reader.string(name, value)
      // Back ends send what they have read.
      case "id", "ignored_members": break
      default: ignored.append(name)
      }
    }
    try reader.check()
  }
}

extension Role {
  var json: JSON {
    [
      "id": .string(RoleName.prefix + id.text), "name": .string(name),
      "description": .string(description),
    ]
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
