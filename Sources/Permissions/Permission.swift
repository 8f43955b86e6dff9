package import EventLoop
import JSON
package import Postgres
import Records
package import Runtime
import Tenancy

/// A scope of an API that a role or a user has.
package struct Permission: RowDecodable {
  /// A role that gives a user the permission; nil fields if the user has it directly.
  package struct Source: Sendable {
    package let role: RoleID?
    package let name: String
  }

  package let server: ResourceServerID
  /// The identifier of the API.
  package let identifier: String
  /// The name of the API.
  package let serverName: String
  package let scope: String
  package let description: String
  /// What gives a user the permission; empty for a permission of a role.
  package let sources: [Source]

  package init(from row: Row) throws(DatabaseError) {
    server = try row.id(0)
    identifier = try row.text(1)
    serverName = try row.text(2)
    scope = try row.text(3)
    description = row.text(ifAny: 4) ?? ""
    sources = (try row.json(5).array ?? []).map { json in
      Source(role: json["id"]?.string.flatMap { RoleID($0) }, name: json["name"]?.string ?? "")
    }
  }
}

/// The name of a permission.
package struct PermissionName: Sendable {
  package let server: ResourceServerID
  package let scope: String

  package init(_ server: ResourceServerID, _ scope: String) {
    (self.server, self.scope) = (server, scope)
  }
}

/// A change of the permissions of a role or a user.
package enum PermissionChange: Sendable {
  case add([PermissionName])
  case remove([PermissionName])
  /// Replaces the scopes at one API.
  case set([String], at: ResourceServerID)
}

/// The statements that change the permissions of roles, or of users.
struct PermissionStatements<Owner: Bindable>: Sendable {
  private let add: Statement<String, Owner, TextBytes>
  private let remove: Statement<String, Owner, TextBytes>
  private let scopes: Statement<String, Owner, ResourceServerID>
  private let count: Statement<Int, Owner>

  /// - Parameters:
  ///   - add: inserts permissions and returns those that are new, in words.
  ///   - remove: deletes permissions and returns those that existed, in words.
  ///   - scopes: returns the scopes at an API.
  ///   - count: returns the number of permissions.
  init(
    add: Statement<String, Owner, TextBytes>, remove: Statement<String, Owner, TextBytes>,
    scopes: Statement<String, Owner, ResourceServerID>, count: Statement<Int, Owner>
  ) {
    (self.add, self.remove, self.scopes, self.count) = (add, remove, scopes, count)
  }

  /// Changes the permissions of a locked owner.
  ///
  /// - Parameters:
  ///   - change: the change.
  ///   - owner: the owner, whom the transaction has locked.
  ///   - app: the app of the owner.
  ///   - transaction: the transaction.
  /// - Returns: the members of an audit event; nil if the change changes nothing.
  /// - Throws: `.invalid` for a permission that the app lacks, and for too many.
  @EventLoop func make(
    _ change: PermissionChange, of owner: Owner, _ app: AppID, in transaction: Transaction
  ) async throws(Failure) -> JSONObject? {
    var (added, removed): ([PermissionName], [PermissionName]) = ([], [])
    var place = "/permissions"
    switch change {
    case .add(let names): added = names
    case .remove(let names): removed = names
    case .set(let wanted, let server):
      place = "/scopes"
      let stored = try await transaction.run(scopes, owner, server)
      added = wanted.map { PermissionName(server, $0) }
      removed = stored.filter { scope in !wanted.contains(where: scope.hasSameBytes) }
        .map { PermissionName(server, $0) }
    }
    try await Self.check(added, of: app, at: place, in: transaction)
    var detail = JSONObject()
    for (name, names, statement) in [("added", added, add), ("removed", removed, remove)]
    where !names.isEmpty {
      let changed = try await transaction.run(statement, owner, Self.list(names))
      if !changed.isEmpty { detail[name] = .array(changed.map(JSON.string)) }
    }
    if detail["added"] != nil,
      try await transaction.run(count, owner).first ?? 0 > RoleLimits.permissions
    {
      let rule = "There may be at most \(RoleLimits.permissions) permissions."
      throw .invalid([FieldError("", "length", rule)])
    }
    return detail.count == 0 ? nil : detail
  }

  private static func list(_ names: [PermissionName]) -> TextBytes {
    TextBytes(
      JSON.array(
        names.map { ["server": .string($0.server.text), "scope": .string($0.scope)] }
      ).serialized()
    )
  }

  /// Checks that an app has permissions, and keeps them until the end of a transaction.
  ///
  /// - Throws: `.invalid`.
  @EventLoop private static func check(
    _ names: [PermissionName], of app: AppID, at place: String, in transaction: Transaction
  ) async throws(Failure) {
    guard !names.isEmpty else { return }
    let ids = Set(names.map(\.server.text)).sorted()
    let rows = try await transaction.run(
      RolePermissionQueries.servers, app, ids.joined(separator: " ")
    )
    let scopes = Dictionary(
      rows.map { ($0.id, $0.scopes) }, uniquingKeysWith: { first, _ in first }
    )
    let faults = names.enumerated().lazy.filter { scopes[$1.server]?[$1.scope] == nil }
      .prefix(FieldError.limit).map { index, _ in
        FieldError("\(place)/\(index)", "choice", "The app has no such API with this scope.")
      }
    guard faults.isEmpty else { throw .invalid(Array(faults)) }
  }
}

/// An API with its scopes.
struct ServerScopes: RowDecodable {
  let id: ResourceServerID
  let scopes: JSONObject

  init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    scopes = try row.json(1).object ?? JSONObject()
  }
}

/// The permissions of roles.
@EventLoop package enum RolePermissions {
  /// Returns the permissions of a role, sorted by API and scope.
  ///
  /// - Throws: `.roleNotFound`, `.databaseUnavailable`.
  package static func list(
    of role: RoleID, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> [Permission] {
    _ = try await RoleRecord.table.find(role.text, of: app, context)
    return try await context.read(RolePermissionQueries.list, role, on: .large)
  }

  /// Changes the permissions of a role.
  ///
  /// Tokens keep a removed permission until they expire.
  /// - Throws: `.roleNotFound`, `.invalid`, `.databaseUnavailable`.
  package static func change(
    _ change: PermissionChange, of role: RoleID, of app: AppID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      let lock = RoleRecord.table.statements.lock
      guard try await transaction.run(lock, app.text, role.text).first != nil else {
        throw .roleNotFound
      }
      let changes = RolePermissionQueries.changes
      guard var detail = try await changes.make(change, of: role, app, in: transaction) else {
        return
      }
      detail["role_id"] = .string(role.text)
      Event("role_permissions_change", detail: .object(detail)).record(in: transaction, app: app)
    }
  }
}

package enum RolePermissionQueries {
  /// Returns the permissions that the API still has.
  static let list = Statement<Permission, RoleID>(
    "role_permissions.list",
    """
    select r.resource_server_id, r.identifier, r.name, p.scope, r.scopes ->> p.scope, '[]'::json
    from role_permissions p join resource_servers r
      on r.app_id = p.app_id and r.resource_server_id = p.resource_server_id
    where p.role_id = $1 and r.scopes -> p.scope is not null
    order by r.identifier, p.scope limit 1000
    """)

  /// Locks APIs, so that their scopes stay until the end of the transaction.
  ///
  /// - Parameter 2: ids, separated by spaces.
  static let servers = Statement<ServerScopes, AppID, String>(
    "role_permissions.servers",
    """
    select resource_server_id, scopes from resource_servers
    where app_id = $1 and resource_server_id = any (string_to_array($2, ' '))
    order by resource_server_id for share
    """)

  static let add = Statement<String, RoleID, TextBytes>(
    "role_permissions.add",
    """
    insert into role_permissions (app_id, role_id, resource_server_id, scope)
    select r.app_id, r.role_id, p.server, p.scope
    from roles r cross join jsonb_to_recordset($2::jsonb) as p (server text, scope text)
    where r.role_id = $1
    on conflict (role_id, resource_server_id, scope) do nothing
    returning resource_server_id || ' ' || scope
    """)

  static let remove = Statement<String, RoleID, TextBytes>(
    "role_permissions.remove",
    """
    delete from role_permissions r
    using jsonb_to_recordset($2::jsonb) as p (server text, scope text)
    where r.role_id = $1 and r.resource_server_id = p.server and r.scope = p.scope
    returning r.resource_server_id || ' ' || r.scope
    """)

  static let scopes = Statement<String, RoleID, ResourceServerID>(
    "role_permissions.scopes",
    "select scope from role_permissions where role_id = $1 and resource_server_id = $2"
  )

  static let count = Statement<Int, RoleID>(
    "role_permissions.count", "select count(*) from role_permissions where role_id = $1"
  )

  static let changes = PermissionStatements(add: add, remove: remove, scopes: scopes, count: count)
}
