import Dossier
import Wiring

/// Where a user's data is found, and who may read and write it there: the user itself below
/// `/v1/me`, the app's programs below `/v1/users/{user}`.
struct BasePath {
  let prefix: String
  let read: Access
  let write: Access

  static let me = BasePath(
    prefix: "/v1/me",
    read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateMetadata)
  )
  /// Of what decides how the user logs in, and where it is logged in.
  static let meIdentities = BasePath(
    prefix: "/v1/me",
    read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateIdentities)
  )
  static let users = BasePath(
    prefix: "/v1/users/{user}",
    read: .client(scope: Scopes.readUsers),
    write: .client(scope: Scopes.updateUsers)
  )
  static let usersAppMetadata = BasePath(
    prefix: "/v1/users/{user}",
    read: .client(scope: Scopes.readAppMetadata),
    write: .client(scope: Scopes.updateAppMetadata)
  )
}
