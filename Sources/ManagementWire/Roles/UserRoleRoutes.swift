import EventLoop
import HTTP
import Runtime
import Sessions
import Tenancy
import WireKit

/// `/api/v2/users/{user}/roles`: the roles of a user.
@EventLoop enum UserRoleRoutes {
  private nonisolated static let path = "\(UserRoutes.path)/{user}/roles"
  private nonisolated static let bodyLimit = 65_536

  nonisolated static let routes = [
    Route(.get, path, access: RoleMemberRoutes.readAccess, summary: "List the roles of a user") {
      call async throws(Failure) in
      let page = try PageParameters(call.query)
      let roles = try await UserRoles.list(of: call.managedUser(), call.context)
      return page.response(roles, named: "roles", \.json)
    },
    Route(
      .post, path, access: .management(Scopes.updateUsers, "create:role_members"),
      body: .json(limit: bodyLimit), summary: "Give a user roles"
    ) { call async throws(Failure) in
      let (user, roles) = (try await call.managedUser(), try roles(call))
      try await UserRoles.assign(roles, to: user, call.context)
      return Response(.noContent)
    },
    Route(
      .delete, path, access: .management(Scopes.updateUsers, "delete:role_members"),
      body: .json(limit: bodyLimit), summary: "Take roles from a user"
    ) { call async throws(Failure) in
      let (user, roles) = (try await call.managedUser(), try roles(call))
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
