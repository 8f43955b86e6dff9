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

  private static let permissionMembers: [(key: String, value: Shape)] = [
    ("resource_server", .id(Example.resourceServer)), ("identifier", .identifierOfAPI),
    ("name", .nameOfAPI), ("scope", .text.like("read:orders")),
    ("description", .text.like("See your orders")),
  ]

  package static let permission = Shape.object(members: permissionMembers)
    .named("Permission", "A scope of an API.")

  package static let permissionOfUser = Shape.object(
    members: permissionMembers + [
      ("direct", .flag.like(false)),
      (
        "roles",
        .list(of: .object(["id": .id(Example.role), "name": .nameOfRole]))
      ),
    ]
  ).named("PermissionOfUser", "A scope of an API that a user has, directly or by roles.")

  package static let roleMember = Shape.object(["id": .id(Example.ada)])
    .named("RoleMember", "A user of a role.")
}
