import JSON
import Tenancy

/// Shapes of the routes for roles and permissions.
extension Shape {
  package static let nameOfRole = Shape.label.like("Editor")
  package static let descriptionOfRole = Shape.text(0...500).like("Edits articles")

  package static let role = Shape.object([
    "id": .id(Example.role), "name": .nameOfRole, "description": .descriptionOfRole,
    "version": .count.like(1), "created_at": .time(Example.appMade),
  ]).named("Role", "A named set of permissions, which users can have.")

  package static let permission = Shape.object(
    members: [
      ("resource_server", .id(Example.resourceServer)), ("identifier", .identifierOfAPI),
      ("name", .nameOfAPI), ("scope", .text.like("read:orders")),
      ("description", .text.like("See your orders")),
    ],
    optional: [
      ("direct", .flag.saying("whether the user has it without a role").like(false)),
      ("roles", .list(of: .nameOfRole).saying("the roles of the user that have it")),
    ]
  ).named("Permission", "A scope of an API that a role or a user has.")

  package static let roleMember = Shape.object(["id": .id(Example.ada)])
    .named("RoleMember", "A user of a role.")
}
