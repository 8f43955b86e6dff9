package import EventLoop
import JSON
import Postgres
package import Runtime
import Sessions
package import Tenancy
import Records

/// The permissions of users: those of their roles, and those that they have directly.
@EventLoop package enum UserPermissions {
  /// Returns the permissions of a user, sorted by API and scope, with their sources.
  ///
  /// - Throws: `.notFound`, `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [Permission] {
    try await context.requireSession(of: user)
    return try await context.read(UserPermissionQueries.list, user, on: .large)
  }

  /// Returns the scopes of an API that a user may get, in the order of the API.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func scopes(
    of user: UserID, at server: ResourceServer, _ context: RequestContext
  ) async throws(Failure) -> [String] {
    let allowed = try await context.read(
      UserPermissionQueries.allowed, user, server.id, on: .exclusive)
    return server.scopes.map(\.name).filter { name in allowed.contains(where: name.hasSameBytes) }
  }

  /// Changes the permissions that a user has directly.
  ///
  /// Tokens keep a removed permission until they expire.
  /// - Throws: `.invalid`, `.notFound`, `.databaseUnavailable`.
  package static func change(
    _ change: PermissionChange, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let changes = UserPermissionQueries.changes
      let detail = try await changes.make(change, of: user, context.app.id, in: transaction)
      guard let detail else { return }
      Event("user_permissions_change", of: user, detail: .object(detail)).record(in: transaction)
    }
  }
}

package enum UserPermissionQueries {
  /// Returns the permissions that the APIs still have.
  static let list = Statement<Permission, UserID>(
    "user_permissions.list",
    """
    select r.resource_server_id, r.identifier, r.name, g.scope, r.scopes ->> g.scope,
      json_agg(json_build_object('id', g.role_id, 'name', g.role_name) order by g.role_name)
    from (
      select resource_server_id, scope, null as role_id, '' as role_name
      from user_permissions where user_id = $1
      union all
      select p.resource_server_id, p.scope, o.role_id, o.name
      from user_roles u join roles o on o.role_id = u.role_id
      join role_permissions p on p.role_id = u.role_id
      where u.user_id = $1
    ) g
    join resource_servers r on r.resource_server_id = g.resource_server_id
    where r.scopes -> g.scope is not null
    group by r.app_id, r.resource_server_id, g.scope
    order by r.identifier, g.scope limit 1000
    """)

  static let allowed = Statement<String, UserID, ResourceServerID>(
    "user_permissions.allowed",
    """
    select scope from user_permissions where user_id = $1 and resource_server_id = $2
    union
    select p.scope from user_roles u join role_permissions p on p.role_id = u.role_id
    where u.user_id = $1 and p.resource_server_id = $2
    """)

  static let add = Statement<String, UserID, TextBytes>(
    "user_permissions.add",
    """
    insert into user_permissions (user_id, resource_server_id, scope)
    select u.user_id, p.server, p.scope
    from users u cross join jsonb_to_recordset($2::jsonb) as p (server text, scope text)
    where u.user_id = $1
    on conflict (user_id, resource_server_id, scope) do nothing
    returning resource_server_id || ' ' || scope
    """)

  static let remove = Statement<String, UserID, TextBytes>(
    "user_permissions.remove",
    """
    delete from user_permissions u
    using jsonb_to_recordset($2::jsonb) as p (server text, scope text)
    where u.user_id = $1 and u.resource_server_id = p.server and u.scope = p.scope
    returning u.resource_server_id || ' ' || u.scope
    """)

  static let direct = Statement<String, UserID, ResourceServerID>(
    "user_permissions.direct",
    "select scope from user_permissions where user_id = $1 and resource_server_id = $2"
  )

  static let count = Statement<Int, UserID>(
    "user_permissions.count", "select count(*) from user_permissions where user_id = $1"
  )

  static let changes = PermissionStatements(add: add, remove: remove, scopes: direct, count: count)
}
