import Accounts
package import Documents
import Runtime

extension ListedUser {
  /// The columns of a file of users.
  package static let columns = [
    "email", "name", "created_at", "email_verified", "blocked", "last_login_at", "id",
  ]

  /// The cells of the user, in the order of the columns.
  package var cells: [String] {
    [
      profile.email ?? "", profile.name ?? "", profile.createdAt.text,
      profile.isEmailVerified ? "true" : "false", profile.isBlocked ? "true" : "false",
      lastLogin?.text ?? "", profile.id.text,
    ]
  }
}
