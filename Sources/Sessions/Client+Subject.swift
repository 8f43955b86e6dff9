import EventLoop
package import Runtime
package import Tenancy

extension Client {
  /// Returns the `sub` of a user for the client.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package func subject(of user: UserID, _ context: RequestContext) async throws(Failure)
    -> String
  {
    switch settings.claimsProfile {
    case .oidc: user.text
    case .auth0: try await ForeignIDs.id(of: user, context)
    }
  }

  /// Returns the same in a transaction.
  @EventLoop func subject(of user: UserID, in transaction: Transaction) async throws(Failure)
    -> String
  {
    switch settings.claimsProfile {
    case .oidc: user.text
    case .auth0: try await ForeignIDs.id(of: user, in: transaction)
    }
  }
}
