import JSON
import Runtime
import Records

/// The API of each app by which Auth0's clients manage users.
///
/// Its audience depends on the issuer, which follows the host name. So its stored identifier is the
/// part after the issuer.
package enum ManagementAPI {
  package static let identifier = "api/v2/"

  /// Returns the stored identifier of an audience.
  ///
  /// - Parameters:
  ///   - audience: the audience, as a client names it.
  ///   - issuer: the issuer of the app.
  /// - Returns: the identifier.
  package static func identifier(of audience: String, at issuer: String) -> String {
    audience.hasSameBytes(as: issuer + identifier) ? identifier : audience
  }

  /// Returns the audience of a stored identifier.
  package static func audience(of stored: String, at issuer: String) -> String {
    stored.hasSameBytes(as: identifier) ? issuer + identifier : stored
  }

  /// Returns whether a client may get a scope for a user; the other scopes are for back ends.
  package static func isOfUser(_ scope: String) -> Bool { ofUsers.contains(scope) }

  private static let ofUsers: Set<String> = [
    Scopes.readUser, "create:current_user_metadata", Scopes.updateMetadata,
    "delete:current_user_metadata", Scopes.updateIdentities,
  ]
}

extension ResourceServer {
  package var isManagementAPI: Bool { record.identifier.hasSameBytes(as: ManagementAPI.identifier) }

  /// Returns whether a client may get a scope for a user.
  package func grants(toUsers scope: String) -> Bool {
    record.scopes.contains { $0.name.hasSameBytes(as: scope) }
      && (!isManagementAPI || ManagementAPI.isOfUser(scope))
  }
}
