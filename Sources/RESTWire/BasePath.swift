import Runtime
import WireKit

/// A path of user data: `/v1/me` for the user, `/v1/users/{user}` for API clients.
struct BasePath {
  let prefix: String
  let read: Access
  let write: Access

  static let me = BasePath(
    prefix: "/v1/me", read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateMetadata)
  )
  /// The access to credentials and sessions.
  static let meIdentities = BasePath(
    prefix: "/v1/me", read: .user(scope: Scopes.readUser),
    write: .user(scope: Scopes.updateIdentities)
  )
  static let users = BasePath(
    prefix: "/v1/users/{user}", read: .client(scope: Scopes.readUsers),
    write: .client(scope: Scopes.updateUsers)
  )
  static let usersAppMetadata = BasePath(
    prefix: "/v1/users/{user}", read: .client(scope: Scopes.readAppMetadata),
    write: .client(scope: Scopes.updateAppMetadata)
  )
}
