import EventLoop
import Postgres
import Runtime

/// Takes the scopes that an API has no longer from those who have them as permissions.
@EventLoop enum RemovedScopes {
  /// Takes scopes of an API from users who have them directly, a thousand at a time.
  ///
  /// - Parameters:
  ///   - scopes: the scopes; nil for all.
  ///   - server: the API.
  ///   - context: the context of the request.
  /// - Throws: `.databaseUnavailable`.
  static func forget(
    _ scopes: [String]?, of server: ResourceServerID, _ context: RequestContext
  ) async throws(Failure) {
    if scopes?.isEmpty == true { return }
    let names = scopes.map { $0.joined(separator: " ") }
    while case let users = try await context.read(
      RemovedScopeQueries.users, server, names, on: .exclusive),
      !users.isEmpty
    {
      // A user may have several of the scopes.
      let calls = Set(users).sorted { $0.text < $1.text }.map {
        PendingQuery(RemovedScopeQueries.forget, $0, server, names)
      }
      try await context.write(calls)
    }
  }
}

package enum RemovedScopeQueries {
  /// Deletes the permissions of roles whose scopes an API has no longer.
  static let settle = Statement<NoRow, AppID, ResourceServerID>(
    "removed_scopes.settle",
    """
    delete from role_permissions p using resource_servers r
    where p.app_id = $1 and p.resource_server_id = $2
      and r.app_id = $1 and r.resource_server_id = $2 and r.scopes -> p.scope is null
    """)

  /// Returns users with permissions at an API, for a thousand permissions of all shards.
  ///
  /// Served by `user_permissions_by_scope`.
  /// - Parameter 2: scopes, separated by spaces; null for all.
  static let users = Statement<UserID, ResourceServerID, String?>(
    "removed_scopes.users",
    """
    select user_id from user_permissions
    where resource_server_id = $1
      and ($2::text is null or scope = any (string_to_array($2, ' ')))
    order by scope, user_id limit 1000
    """)

  static let forget = Statement<NoRow, UserID, ResourceServerID, String?>(
    "removed_scopes.forget",
    """
    delete from user_permissions
    where user_id = $1 and resource_server_id = $2
      and ($3::text is null or scope = any (string_to_array($3, ' ')))
    """)
}
