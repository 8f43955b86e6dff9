import EventLoop
import HTTP
import JSON
import Runtime
import Sessions
import Tenancy
import WireKit

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
      let role = try await Roles.find(call.role(), of: call.context.app.id, call.context).id
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
