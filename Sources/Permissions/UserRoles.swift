package import EventLoop
import JSON
package import Postgres
import Records
package import Runtime
import Sessions
import Tenancy

/// The roles of users.
@EventLoop package enum UserRoles {
  /// Returns the roles of a user, sorted by name.
  ///
  /// - Throws: `.notFound`, `.sessionEnded`, `.databaseUnavailable`.
  package static func list(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> [Role] {
    try await context.requireSession(of: user)
    return try await context.read(UserRoleQueries.list, user, on: .exclusive)
  }

  /// Adds a read of the roles of a user to a batch, sorted by name.
  ///
  /// It checks no session: another read of the batch does.
  package static func addList(of user: UserID, to batch: inout ReadBatch) -> BatchRead<[Role]> {
    let place = batch.add(UserRoleQueries.list, user)
    return { (results) throws(Failure) in try results.rows(place) }
  }

  /// Returns the users of a role, sorted by id.
  ///
  /// - Parameters:
  ///   - role: the role.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the users.
  /// - Throws: `.roleNotFound`, `.databaseUnavailable`.
  package static func users(
    of role: RoleID, after cursor: UserID? = nil, count: Int = PageLimit.most,
    _ context: RequestContext
  ) async throws(Failure) -> Page<RoleMember> {
    _ = try await RoleRecord.table.find(role.text, of: context.app.id, context)
    return Page(
      try await context.read(UserRoleQueries.users, role, cursor, count, on: .exclusive), of: count)
  }

  /// Gives a user roles; those that it has stay.
  ///
  /// - Throws: `.roleNotFound`, `.invalid` if the user has too many, `.notFound`,
  ///   `.databaseUnavailable`.
  package static func assign(
    _ roles: [RoleID], to user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      try await RoleRecord.keep(roles, of: context.app.id, in: transaction)
      let added = try await transaction.run(UserRoleQueries.assign, user, Self.text(roles))
      let count = try await transaction.run(UserRoleQueries.count, user).first ?? 0
      guard count <= RoleLimits.rolesOfUser else {
        let rule = "A user may have at most \(RoleLimits.rolesOfUser) roles."
        throw .invalid([FieldError("", "length", rule)])
      }
      record("added", added, of: user, in: transaction)
    }
  }

  /// Takes roles from a user; it need not have them.
  ///
  /// Tokens of the user keep their permissions until they expire.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  package static func remove(
    _ roles: [RoleID], from user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let removed = try await transaction.run(UserRoleQueries.remove, user, Self.text(roles))
      record("removed", removed, of: user, in: transaction)
    }
  }

  private static func text(_ roles: [RoleID]) -> String {
    roles.map(\.text).joined(separator: " ")
  }

  private static func record(
    _ name: String, _ roles: [String], of user: UserID, in transaction: Transaction
  ) {
    guard !roles.isEmpty else { return }
    let detail = JSONObject([(name, .array(roles.map(JSON.string)))])
    Event("user_roles_change", of: user, detail: .object(detail)).record(in: transaction)
  }
}

/// A user of a role.
package struct RoleMember: Listed {
  package let user: UserID
  package var cursor: UserID { user }

  package init(from row: Row) throws(DatabaseError) { user = try row.id(0) }
}

package enum UserRoleQueries {
  static let list = Statement<Role, UserID>(
    "user_roles.list",
    """
    select \(RoleRecord.table.columns), a.name
    from user_roles u join roles r on r.role_id = u.role_id join apps a on a.app_id = r.app_id
    where u.user_id = $1 order by r.name, r.role_id
    """)

  /// Served by `user_roles_by_role`.
  static let users = Statement<RoleMember, RoleID, UserID?, Int>(
    "user_roles.users",
    """
    select user_id from user_roles where role_id = $1 and user_id > coalesce($2, '')
    order by user_id limit $3
    """)

  /// Returns the roles that are new.
  ///
  /// - Parameter 2: ids, separated by spaces.
  static let assign = Statement<String, UserID, String>(
    "user_roles.assign",
    """
    insert into user_roles (user_id, role_id)
    select u.user_id, r.role_id from users u cross join unnest(string_to_array($2, ' ')) r (role_id)
    where u.user_id = $1
    on conflict (user_id, role_id) do nothing returning role_id
    """)

  static let count = Statement<Int, UserID>(
    "user_roles.count", "select count(*) from user_roles where user_id = $1"
  )

  /// Returns the roles that the user had.
  static let remove = Statement<String, UserID, String>(
    "user_roles.remove",
    """
    delete from user_roles where user_id = $1 and role_id = any (string_to_array($2, ' '))
    returning role_id
    """)
}
