import JSON
package import Postgres
package import Runtime

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

extension ErrorType {
  package static let roleNotFound = ErrorType("role_not_found", .notFound)
    .titled("The app has no such role.")
    .remedied("Compare the id with the roles of the app (dossier role list).")
  package static let roleExists = ErrorType("role_exists", .conflict)
    .titled("The app already has a role with that name.")
    .remedied("Choose another name.")

  package static let roleErrors = [roleNotFound, roleExists]
}

extension Failure {
  package static let roleNotFound = Failure(.roleNotFound)
  package static let roleExists = Failure(.roleExists)
}
