package import EventLoop
import JSON
package import Postgres
package import Runtime
import Tenancy

/// The roles of apps.
@EventLoop package enum Roles {
  /// Creates a role without permissions.
  ///
  /// - Throws: `.invalid`, `.roleExists`, `.unknownApp`, `.databaseUnavailable`.
  package static func create(
    _ name: String, _ description: String, of app: App, _ context: RequestContext
  ) async throws(Failure) -> Role {
    let change = RoleChange(name: name, description: description)
    guard change.faults.isEmpty else { throw .invalid(change.faults) }
    return try await context.transaction { transaction async throws(Failure) in
      // Serializes creations in one app, for the limit.
      let locked = transaction.send(AppsAdministrationQueries.lock, app.name)
      let count = try await transaction.run(RoleQueries.count, app.id).first ?? 0
      guard try await locked.rows().first?.id == app.id else { throw .unknownApp }
      guard count < RoleLimits.roles else {
        let rule = "An app may have at most \(RoleLimits.roles) roles."
        throw .invalid([FieldError("", "length", rule)])
      }
      let made = try await transaction.run(RoleQueries.create, app.id, RoleID(), name, description)
      guard let role = made.first else { throw .roleExists }
      Event("role_create", detail: change.audited(of: role.id)).record(in: transaction, app: app.id)
      return role
    }
  }

  /// Returns the roles of an app, sorted by name.
  ///
  /// - Parameters:
  ///   - app: the app.
  ///   - part: a part of the name, in any case; nil for all roles.
  ///   - context: the context of the request.
  /// - Returns: the roles.
  /// - Throws: `.databaseUnavailable`.
  package static func list(
    of app: AppID, named part: String? = nil, _ context: RequestContext
  ) async throws(Failure) -> [Role] {
    try await context.fetch(RoleQueries.list, app, part)
  }

  /// Returns a role.
  ///
  /// - Throws: `.roleNotFound`, `.databaseUnavailable`.
  package static func find(
    _ role: RoleID, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> Role {
    let found = try await context.readLatest(RoleQueries.find, app, role)
    guard let role = found.first else { throw .roleNotFound }
    return role
  }

  /// Locks a role until the end of a transaction.
  ///
  /// - Throws: `.roleNotFound`.
  static func lock(
    _ role: RoleID, of app: AppID, in transaction: Transaction
  ) async throws(Failure) -> Role {
    let found = try await transaction.run(RoleQueries.lock, app, role)
    guard let role = found.first else { throw .roleNotFound }
    return role
  }

  /// Locks roles against deletion until the end of a transaction.
  ///
  /// - Throws: `.roleNotFound` if the app lacks one of them.
  static func keep(
    _ roles: [RoleID], of app: AppID, in transaction: Transaction
  ) async throws(Failure) {
    let ids = Set(roles.map(\.text))
    let found = try await transaction.run(
      RoleQueries.keep, app, ids.sorted().joined(separator: " ")
    )
    guard found.count == ids.count else { throw .roleNotFound }
  }

  /// Changes a role, and increments the version even if no value differs.
  ///
  /// - Throws: `.invalid`, `.roleExists`, `.preconditionFailed`, `.roleNotFound`,
  ///   `.databaseUnavailable`.
  package static func change(
    _ role: RoleID, _ change: RoleChange, of app: AppID,
    if condition: VersionCondition = VersionCondition(), _ context: RequestContext
  ) async throws(Failure) -> Role {
    guard change.faults.isEmpty else { throw .invalid(change.faults) }
    return try await context.transaction { transaction async throws(Failure) in
      let before = try await lock(role, of: app, in: transaction)
      try condition.require(before.version)
      let changed = try await transaction.send(
        RoleQueries.change, app, role, change.name ?? before.name,
        change.description ?? before.description
      ).rows(duplicate: .roleExists)
      Event("role_change", detail: change.audited(of: role)).record(in: transaction, app: app)
      return try changed.first.orUnforeseen("a role that was changed")
    }
  }

  /// Deletes a role, and takes it from its users first, a thousand at a time.
  ///
  /// It can be repeated after an interruption.
  /// - Throws: `.roleNotFound`, `.databaseUnavailable`.
  package static func delete(
    _ role: RoleID, of app: AppID, _ context: RequestContext
  ) async throws(Failure) {
    _ = try await find(role, of: app, context)
    while case let users = try await context.readLatest(RoleQueries.users, role), !users.isEmpty {
      try await context.write(users.map { PendingQuery(RoleQueries.clear, $0, role) })
    }
    try await context.transaction { transaction async throws(Failure) in
      let deleted = try await transaction.run(RoleQueries.delete, app, role)
      guard let name = deleted.first else { throw .roleNotFound }
      Event(
        "role_delete", detail: ["role_id": .string(role.text), "name": .string(name)]
      ).record(in: transaction, app: app)
    }
  }
}

extension SQL {
  /// The columns of a `Role`.
  static let role: SQL = "o.role_id, o.name, o.description, o.version, o.created_at"
}

package enum RoleQueries {
  static let count = Statement<Int, AppID>(
    "roles.count", "select count(*) from roles where app_id = $1"
  )

  /// Returns no row if the name is taken.
  static let create = Statement<Role, AppID, RoleID, String, String>(
    "roles.create",
    """
    insert into roles as o (app_id, role_id, name, description) values ($1, $2, $3, $4)
    on conflict (app_id, name) do nothing
    returning \(.role)
    """)

  /// Served by `roles_name`.
  static let list = Statement<Role, AppID, String?>(
    "roles.list",
    """
    select \(.role) from roles o
    where app_id = $1 and ($2::text is null or position(lower($2) in lower(name)) > 0)
    order by name, role_id limit 1000
    """)

  static let find = Statement<Role, AppID, RoleID>(
    "roles.find",
    """
    select \(.role) from roles o
    where app_id = $1 and role_id = $2
    """)

  static let lock = Statement<Role, AppID, RoleID>(
    "roles.lock",
    """
    select \(.role) from roles o
    where app_id = $1 and role_id = $2 for no key update
    """)

  /// - Parameter 2: ids, separated by spaces.
  static let keep = Statement<String, AppID, String>(
    "roles.keep",
    """
    select role_id from roles
    where app_id = $1 and role_id = any (string_to_array($2, ' ')) order by role_id for key share
    """)

  /// Violates `roles_name` if the name is taken.
  static let change = Statement<Role, AppID, RoleID, String, String>(
    "roles.change",
    """
    update roles o set name = $3, description = $4, version = version + 1
    where app_id = $1 and role_id = $2
    returning \(.role)
    """)

  /// Returns a thousand users of a role, of all shards.
  ///
  /// Served by `user_roles_by_role`.
  static let users = Statement<UserID, RoleID>(
    "roles.users", "select user_id from user_roles where role_id = $1 order by user_id limit 1000"
  )

  static let clear = Statement<NoRow, UserID, RoleID>(
    "roles.clear", "delete from user_roles where user_id = $1 and role_id = $2"
  )

  /// Returns the name.
  static let delete = Statement<String, AppID, RoleID>(
    "roles.delete", "delete from roles where app_id = $1 and role_id = $2 returning name"
  )

  package static let all: [any PreparedStatement] = [
    count, create, list, find, lock, keep, change, users, clear, delete,
  ]
}

/// A named set of permissions, which users of an app can have.
package struct Role: RowDecodable {
  package let id: RoleID
  /// Unique within the app.
  package let name: String
  package let description: String
  package let version: Int
  package let createdAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    name = try row.text(1)
    description = try row.text(2)
    version = try row.int(3)
    createdAt = try row.time(4)
  }
}

/// A change of a role; nil keeps a member.
package struct RoleChange: Sendable {
  /// A label of 1 to 100 characters.
  package var name: String?
  /// A text of up to 500 characters in one line.
  package var description: String?

  package init(name: String?, description: String?) {
    (self.name, self.description) = (name, description)
  }

  package var faults: [FieldError] {
    var faults: [FieldError] = []
    if let name, let fault = OperatorName.labelFault(in: name) { faults.append(fault) }
    if let description, !OperatorName.isDescription(description) {
      faults.append(FieldError("/description", "description", OperatorName.descriptionRule))
    }
    return faults
  }

  /// The members that it changes, for an audit event.
  func audited(of role: RoleID) -> JSON {
    var detail = JSONObject([("role_id", .string(role.text))])
    detail["name"] = name.map(JSON.string)
    detail["description"] = description.map(JSON.string)
    return .object(detail)
  }
}

/// The limits of roles.
package enum RoleLimits {
  /// A page of an operator shows all roles of an app.
  package static let roles = 1_000
  package static let permissions = 1_000
  /// Each refresh of a token reads them.
  package static let rolesOfUser = 100
}

extension Failure {
  package static let roleNotFound = Failure("role_not_found", .notFound)
    .titled("The app has no such role.")
    .remedied("Compare the id with the roles of the app (dossier role list).")
  package static let roleExists = Failure("role_exists", .conflict)
    .titled("The app already has a role with that name.")
    .remedied("Choose another name.")
}
