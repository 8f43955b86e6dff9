import JSON

/// An administrator, as the console signs one in.
package final class Administrator: Sendable {
  /// The id of its user in the app of administrators.
  package let id: UserID
  package let role: AdministratorRole
  /// The apps in which the role holds; nil for all.
  package let apps: [AppID]?
  /// The networks from which the administrator may call; empty for all.
  package let networks: [String]
  /// Whether the administrator has authenticated within the last minutes, by password and code.
  package let isRecent: Bool

  package init(
    _ id: UserID, _ role: AdministratorRole, apps: [AppID]?, networks: [String], isRecent: Bool
  ) {
    (self.id, self.role, self.apps, self.networks) = (id, role, apps, networks)
    self.isRecent = isRecent
  }

  /// The greatest age of an authentication where a route requires a recent one.
  package static let proofLifetime = Duration.seconds(600)

  package var right: AdministratorRight {
    switch role {
    case .viewer: .viewer
    case .support: .support
    case .admin: .admin
    case .owner: apps == nil ? .deployment : .owner
    }
  }

  /// Returns whether the role holds in an app.
  ///
  /// Only an owner of all apps sees the app of administrators.
  package func mayUse(_ app: AppID) -> Bool {
    if app == .operators { return right == .deployment }
    return apps?.contains(app) ?? true
  }
}

/// The role of an administrator.
package enum AdministratorRole: String, CaseIterable, Sendable {
  case viewer
  case support
  case admin
  case owner
}

/// A right of an administrator, which a route requires; each right includes those before it.
package enum AdministratorRight: Int, CaseIterable, Comparable, Sendable {
  case viewer
  case support
  case admin
  case owner
  /// That of an owner of all apps.
  case deployment

  package static func < (first: AdministratorRight, second: AdministratorRight) -> Bool {
    first.rawValue < second.rawValue
  }

  /// The roles with the right, as the start of a sentence.
  package var holders: String {
    switch self {
    case .viewer: "Each administrator"
    case .support: "Support, an admin or an owner"
    case .admin: "An admin or owner"
    case .owner: "An owner"
    case .deployment: "An owner of all apps"
    }
  }

  /// The name in errors and route lists.
  package var name: String {
    switch self {
    case .viewer: "viewer"
    case .support: "support"
    case .admin: "admin"
    case .owner: "owner"
    case .deployment: "owner of all apps"
    }
  }
}

extension RequestContext {
  /// Checks the right of an administrator who makes the request; other callers need none.
  ///
  /// - Throws: `.roleInsufficient`.
  package func require(_ right: AdministratorRight) throws(Failure) {
    guard let administrator = principal.administrator, administrator.right < right else { return }
    throw .roleInsufficient(
      "The role is \(administrator.role.rawValue), and this needs \(right.name).",
      members: [
        ("role", .string(administrator.role.rawValue)), ("right", .string(right.name)),
      ])
  }
}

extension Failure {
  package static let roleInsufficient = Failure("role_insufficient", .forbidden)
    .titled("The role of the administrator does not allow this.")
    .remedied("An owner of all apps can change the role: dossier administrator set.")
}
