package import EventLoop
import JSON
import Postgres
package import Records
package import Runtime
import Tenancy

/// A named set of permissions, which users of an app can have.
package typealias Role = Stored<RoleRecord>

extension Stored<RoleRecord> {
  package var id: RoleID { RoleID(trusted: key) }
}

/// The attributes of a role, as an operator sets them.
package struct RoleRecord: OwnedRecord {
  /// Unique in the app, compared by bytes.
  package let name: String
  package let description: String

  package init(_ read: inout RecordReader) {
    name = read.requiredText(
      "name", .label, "the name that people see", .example("Editor"), .auth0("name"))
    description = read.text(
      "description", .description, "", "what its users may do", .example("Edits articles"),
      .listed, .auth0("description"))
  }

  package static let words = RecordWords(
    command: "role", type: "Role", one: "role", many: "roles", app: .selection,
    "A named set of permissions, which users can have.",
    consequence: "Its users lose it. Their tokens keep its permissions until they expire.")

  package static let table = RecordTable<RoleRecord>(
    "roles", key: "role_id", own: [.text("name")], order: "r.name, r.role_id",
    .init(
      list: "roles.list", show: "roles.show", lock: "roles.lock", insert: "roles.create",
      change: "roles.change", delete: "roles.delete"))
}

extension ColumnRule {
  fileprivate static let description = ColumnRule.text(
    0...500, "description", OperatorName.descriptionRule, OperatorName.isDescription)
}

extension RoleRecord {
  package static var taken: Failure { .roleExists }
  package static var missing: Failure { .roleNotFound }

  @EventLoop package static func check(
    _ record: RoleRecord, _ key: String, in app: AppID?, _ transaction: Transaction
  ) async throws(Failure) {
    guard let app else { return }
    guard try await table.others(than: key, in: app, transaction).count < RoleLimits.roles else {
      let rule = "An app may have at most \(RoleLimits.roles) roles."
      throw .invalid([FieldError("", "length", rule)])
    }
  }

  /// Deletes a role, and takes it from its users first, a thousand at a time.
  ///
  /// It can be repeated after an interruption.
  @EventLoop package static func delete(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) {
    let role = try await table.find(key, of: app, context).id
    while case let users = try await context.read(RoleQueries.users, role, on: .exclusive),
      !users.isEmpty
    {
      try await context.write(users.map { PendingQuery(RoleQueries.clear, $0, role) })
    }
    try await table.delete(key, of: app, context)
  }

  /// Locks roles against deletion until the end of a transaction.
  ///
  /// - Throws: `.roleNotFound` if the app lacks one of them.
  @EventLoop static func keep(
    _ roles: [RoleID], of app: AppID, in transaction: Transaction
  ) async throws(Failure) {
    let ids = Set(roles.map(\.text))
    let found = try await transaction.run(
      RoleQueries.keep, app, ids.sorted().joined(separator: " ")
    )
    guard found.count == ids.count else { throw .roleNotFound }
  }
}

package enum RoleQueries {
  /// - Parameter 2: ids, separated by spaces.
  static let keep = Statement<String, AppID, String>(
    "roles.keep",
    """
    select role_id from roles
    where app_id = $1 and role_id = any (string_to_array($2, ' ')) order by role_id for key share
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
