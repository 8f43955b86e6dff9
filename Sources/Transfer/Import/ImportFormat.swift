import EventLoop
import Federation
import JSON
import OpenIDClient
import Permissions
import Records
package import Runtime
import Tenancy

/// The format of the lines of an input.
package enum ImportFormat: String, CaseIterable, Sendable {
  case dossier
  case appServices = "app-services"
  case appServicesDocuments = "app-services-documents"
  case auth0
}

/// The input of the readers of foreign formats beside the lines.
package struct ForeignInput: Sendable {
  /// The token issuer of App Services' `custom-token` users; nil without such users.
  package var issuer: String?
  /// Whether App Services has verified all addresses.
  package var areEmailsVerified = false
  /// The member of App Services' documents with the id of the user.
  package var userField: String
  /// The password hashes of Auth0's users.
  package var hashes = Auth0Hashes()

  package init(userField: String) { self.userField = userField }
}

extension ImportFormat {
  /// Returns the reader of foreign lines for an app; nil for Dossier's own format.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func reader(
    _ input: ForeignInput, for app: App, _ context: RequestContext
  ) async throws(Failure) -> (any ForeignReader)? {
    switch self {
    case .dossier: return nil
    case .appServices:
      return AppServicesRow.user(issuer: input.issuer, areEmailsVerified: input.areEmailsVerified)
    case .appServicesDocuments: return AppServicesRow.document(userField: input.userField)
    case .auth0:
      let issuers = try await IssuerRecord.table.list(of: app.id, context)
      let connections = app.connections.all.flatMap { connection in
        let names = [app.connections.auth0Name(of: connection), connection.key]
        return names.compactMap { name in
          connection.provider?.issuer.map { (name, $0) }
        }
      }
      let named = Dictionary(
        connections + issuers.map { ($0.name, $0.issuer) },
        uniquingKeysWith: { first, _ in first })
      let listed = try await RoleRecord.table.list(of: app.id, context)
      let roles = Dictionary(
        listed.map { (ByteString($0.name), $0.id) }, uniquingKeysWith: { first, _ in first }
      )
      return Auth0Reader(
        issuers: named, roles: roles, passkeys: PasskeyRules(of: app), hashes: input.hashes)
    }
  }
}
