import Declarations
import EventLoop
import HTTP
import JSON
import Permissions
import Records
import Representations
import Runtime
import Tenancy
import WireKit

/// The permissions and users of roles, for the operator, and the roles and permissions of users, for
/// API clients.
@EventLoop enum RoleResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/roles/{role}/permissions", access: .operator, gives: [.ok(.list(of: .permission))],
      refuses: [.roleNotFound], summary: "List the permissions of a role"
    ) { (call) async throws(Failure) in
      let (role, app): (RoleID, AppID) = (try call.captured("role"), try call.namedApp.id)
      let permissions = try await RolePermissions.list(of: role, of: app, call.context)
      return Response(.ok, list: permissions, \.json)
    },
    Operation(
      .put, "/v1/roles/{role}/permissions/{resource_server}", access: .operator,
      takes: .body(.json(limit: 65_536), ClientGrantResource.scopesAtAPI), gives: [.noContent],
      refuses: [.roleNotFound], summary: "Set the scopes of a role at an API"
    ) { (call, scopes) async throws(Failure) in
      try await RolePermissions.change(
        .set(scopes, at: call.captured("resource_server")), of: call.captured("role"),
        of: call.namedApp.id, call.context
      )
      return Response(.noContent)
    },
    Operation(
      .get, "/v1/roles/{role}/users", access: .operator, takes: .query(.limit, .cursor),
      gives: [.ok(.list(of: .roleMember, atMost: PageLimit.most))], refuses: [.roleNotFound],
      summary: "List the users of a role"
    ) { (call) async throws(Failure) in
      let query = try ListQuery(call.request.query)
      let page = try await UserRoles.users(
        of: call.captured("role"), after: query.cursor(), count: query.limit, call.context
      )
      return query.response(page, call) { ["id": .string($0.user.text)] }
    },
  ]

  /// The roles and permissions of one user.
  nonisolated static let ofUsers: [Operation] = [
    Operation(
      .get, "/v1/users/{user}/roles", access: .client(scope: Scopes.readUsers),
      gives: [.ok(.list(of: RoleRecord.shape))], summary: "List the roles of a user"
    ) { (call) async throws(Failure) in
      let user: UserID = try call.captured("user")
      return Response(.ok, list: try await UserRoles.list(of: user, call.context), \.json)
    },
    Operation(
      .put, "/v1/users/{user}/roles/{role}", access: .client(scope: Scopes.updateUsers),
      gives: [.noContent], refuses: [.roleNotFound], summary: "Give a user a role"
    ) { (call) async throws(Failure) in
      try await UserRoles.assign([call.captured("role")], to: call.captured("user"), call.context)
      return Response(.noContent)
    },
    Operation(
      .delete, "/v1/users/{user}/roles/{role}", access: .client(scope: Scopes.updateUsers),
      gives: [.noContent], summary: "Take a role from a user, which need not have it"
    ) { (call) async throws(Failure) in
      try await UserRoles.remove([call.captured("role")], from: call.captured("user"), call.context)
      return Response(.noContent)
    },
    Operation(
      .get, "/v1/users/{user}/permissions", access: .client(scope: Scopes.readUsers),
      gives: [.ok(.list(of: .permission))],
      summary: "List the permissions of a user, with the roles that give them"
    ) { (call) async throws(Failure) in
      let user: UserID = try call.captured("user")
      let permissions = try await UserPermissions.list(of: user, call.context)
      return Response(.ok, list: permissions, \.jsonWithSources)
    },
    Operation(
      .put,
      "/v1/users/{user}/permissions/{resource_server}",
      access: .client(scope: Scopes.updateUsers),
      takes: .body(.json(limit: 65_536), ClientGrantResource.scopesAtAPI),
      gives: [.noContent],
      summary: "Set the scopes that a user has at an API without a role"
    ) { (call, scopes) async throws(Failure) in
      let change = PermissionChange.set(scopes, at: try call.captured("resource_server"))
      try await UserPermissions.change(change, of: call.captured("user"), call.context)
      return Response(.noContent)
    },
  ]
}
