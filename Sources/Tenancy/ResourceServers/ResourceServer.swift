package import Runtime
import EventLoop
import JSON
package import Postgres
import Encoding

/// An API of an app, which access tokens are for.
package struct ResourceServer: RowDecodable {
  package let id: ResourceServerID
  /// The audience of its tokens.
  package let identifier: String
  package let name: String
  /// The scopes with their descriptions for users, in the operator's order.
  package let scopes: [(name: String, description: String)]
  /// The lifetime of its access tokens.
  package let tokenLifetime: Duration
  /// Whether clients may get a refresh token for it.
  package let allowsOfflineAccess: Bool
  /// Whether first-party clients get its scopes without the consent of the user.
  package let skipsConsent: Bool
  /// Claims of its access tokens.
  package let claims: ClaimMap
  /// Whether a user gets only the scopes that its permissions contain.
  package let enforcesPolicies: Bool
  package let tokenDialect: TokenDialect

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    identifier = try row.text(1)
    name = try row.text(2)
    scopes = (try row.json(3).object ?? JSONObject()).map { ($0.key, $0.value.string ?? "") }
    tokenLifetime = .seconds(try row.int(4))
    allowsOfflineAccess = try row.bool(5)
    skipsConsent = try row.bool(6)
    claims = ClaimMap(try row.json(7).object ?? JSONObject())
    enforcesPolicies = try row.bool(8)
    tokenDialect = TokenDialect(rawValue: try row.text(9)) ?? .standard
  }
}

/// The form of the access tokens of an API, by the name that Auth0 gives it.
package enum TokenDialect: String, CaseIterable, Sendable {
  case standard = "access_token"
  /// With the claim `permissions`.
  case withPermissions = "access_token_authz"
}

/// The APIs of apps.
package enum ResourceServers {
  /// Returns the API with an identifier, which is compared by bytes; nil if the app has none.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    _ identifier: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> ResourceServer? {
    // PostgreSQL refuses a text with NUL.
    guard isIdentifier(identifier) else { return nil }
    return try await context.first(ResourceServerQueries.find, app, identifier)
  }

  /// Returns the API with an identifier in the app of a transaction.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    _ identifier: String, in transaction: Transaction
  ) async throws(Failure) -> ResourceServer? {
    guard isIdentifier(identifier) else { return nil }
    return try await transaction.run(
      ResourceServerQueries.find, transaction.app.id, identifier
    ).first
  }

  /// Returns the APIs of an app that have one of some identifiers.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    anyOf identifiers: [String], of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> [ResourceServer] {
    let identifiers = identifiers.filter(isIdentifier)
    guard !identifiers.isEmpty else { return [] }
    return try await context.read(ResourceServerQueries.findAny, app, TextArray(identifiers))
  }

  /// Returns the API of an audience, as a client names it; nil if the app has none.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    audience: String, at issuer: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> ResourceServer? {
    try await find(ManagementAPI.identifier(of: audience, at: issuer), of: app, context)
  }

  /// Returns whether a text can be the identifier of an API.
  package nonisolated static func isIdentifier(_ text: String) -> Bool {
    (1...600).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible)
  }
}

extension SQL {
  /// The columns of a `ResourceServer`.
  static let resourceServer: SQL = """
    r.resource_server_id, r.identifier, r.name, r.scopes, r.token_seconds,
      r.allows_offline_access, r.skips_consent, r.claims, r.enforces_policies, r.token_dialect
    """
}

package enum ResourceServerQueries {
  /// Served by `resource_servers_identifier`.
  static let find = Statement<ResourceServer, AppID, String>(
    "resource_servers.find",
    """
    select \(.resourceServer) from resource_servers r
    where app_id = $1 and identifier = $2
    """)

  /// Served by `resource_servers_identifier`.
  static let findAny = Statement<ResourceServer, AppID, TextArray>(
    "resource_servers.find_any",
    """
    select \(.resourceServer) from resource_servers r
    where app_id = $1 and identifier = any ($2::text[])
    """)

  package static let all: [any PreparedStatement] = [find, findAny]
}
