import Dossier
import Wiring

/// The sides from which a user's data is reached: the user's own, and that of the app's programs.
struct Side {
  let prefix: String
  let read: Access
  let write: Access

  static let own = Side(
    prefix: "/v1/me",
    read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateMetadata)
  )
  /// What the user decides that logs it in.
  static let ownAccess = Side(
    prefix: "/v1/me",
    read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateIdentities)
  )
  static let programs = Side(
    prefix: "/v1/users/{user}",
    read: .client(scope: Scopes.readUsers),
    write: .client(scope: Scopes.updateUsers)
  )
  static let programsAppMetadata = Side(
    prefix: "/v1/users/{user}",
    read: .client(scope: Scopes.readAppMetadata),
    write: .client(scope: Scopes.updateAppMetadata)
  )
}
