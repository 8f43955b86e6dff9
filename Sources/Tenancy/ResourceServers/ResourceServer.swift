import Encoding
package import EventLoop
import JSON
import Postgres
package import Records
package import Runtime

/// An API of an app, which access tokens are for.
package typealias ResourceServer = Stored<ResourceServerRecord>

/// The attributes of an API, as an operator sets them.
package struct ResourceServerRecord: OwnedRecord {
  package let identifier: String
  package let name: String
  /// In the operator's order.
  package let scopes: [(name: String, description: String)]
  package let tokenLifetime: Duration
  package let allowsOfflineAccess: Bool
  package let skipsConsent: Bool
  package let enforcesPolicies: Bool
  package let tokenDialect: TokenDialect
  package let claims: ClaimMap

  package init(_ read: inout RecordReader) {
    identifier = read.requiredText(
      "identifier", .identifierOfAPI, "the audience of its tokens", .immutable,
      .example("https://api.example.com"))
    name = read.requiredText("name", .label, "the name that people see", .example("Orders"))
    scopes = read.object(
      "scopes", .scopes, "the scopes, each with a description for users",
      .example(["read:orders": "See your orders"])
    ).map { ($0.key, $0.value.string ?? "") }
    tokenLifetime = read.duration(
      "token_seconds", .seconds, 60...2_592_000, 86_400,
      "the lifetime of its access tokens in seconds: a minute to thirty days",
      .auth0("token_lifetime"))
    allowsOfflineAccess = read.flag(
      "allows_offline_access", false, safe: false, "whether clients may get a refresh token for it",
      .auth0("allow_offline_access"))
    skipsConsent = read.flag(
      "skips_consent", true, safe: false,
      "whether first-party clients get its scopes without the consent of the user",
      .auth0("skip_consent_for_verifiable_first_party_clients"))
    enforcesPolicies = read.flag(
      "enforce_policies", false, safe: true,
      "whether a user gets only the scopes that its roles and permissions contain",
      .auth0("enforce_policies"))
    tokenDialect = read.choice(
      "token_dialect", .standard, safe: .standard,
      "the form of its access tokens; access_token_authz adds the claim permissions",
      .auth0("token_dialect"))
    claims = ClaimMap(
      read.object(
        "claims", ClaimMap.rule, "claims of its access tokens, each with its source",
        .example(["plan": "app_metadata./plan"])))
  }

  package static let words = RecordWords(
    command: "resource-server", type: "ResourceServer", one: "API", many: "APIs",
    app: .member, "An API that access tokens are for.",
    consequence: "The grants of clients go with it. Its tokens stay valid until they expire.")

  package static let table = RecordTable<ResourceServerRecord>(
    "resource_servers", key: "resource_server_id",
    own: [.text("identifier"), .text("name"), .json("scopes")],
    .init(
      list: "resource_servers.list", show: "resource_servers.show", lock: "resource_servers.lock",
      insert: "resource_servers.create", change: "resource_servers.change",
      delete: "resource_servers.delete"))
}

extension Stored<ResourceServerRecord> {
  package var id: ResourceServerID { ResourceServerID(trusted: key) }
}

/// The form of the access tokens of an API, by the name that Auth0 gives it.
package enum TokenDialect: String, CaseIterable, Sendable {
  case standard = "access_token"
  /// With the claim `permissions`.
  case withPermissions = "access_token_authz"
}

// MARK: Rules

extension ColumnRule {
  fileprivate static let identifierOfAPI = ColumnRule.text(
    1...600, "identifier",
    "An identifier must have 1 to 600 printable ASCII characters, without spaces.",
    ResourceServers.isIdentifier)

  fileprivate static let scopes = ColumnRule(.object, all: ScopeRules.faults)
}

private enum ScopeRules {
  /// 200: users see the descriptions of those that a client requests.
  static let most = 200
  private static let lengths = 1...200
  /// Scopes that OpenID Connect defines.
  private static let reserved: Set<String> = [
    "openid", "profile", "email", "address", "phone", "offline_access",
  ]

  static func faults(in value: JSON) -> [ColumnFault] {
    guard let scopes = value.object else {
      return [ColumnFault("", "type", "This member must be an object.")]
    }
    guard scopes.count <= most else {
      return [ColumnFault("", "length", "An API may have at most \(most) scopes.")]
    }
    return scopes.compactMap { name, description in
      reason(against: name, description).map { code, detail in
        ColumnFault("/\(JSONPointer.escaped(name))", code, detail)
      }
    }
  }

  private static func reason(against name: String, _ description: JSON) -> ColumnRule.Fault? {
    guard lengths.contains(name.utf8.count), isScope(name) else {
      return (
        "scope",
        "A scope must have 1 to 200 printable ASCII characters, without spaces, quotes and backslashes."
      )
    }
    if reserved.contains(where: { $0.hasSameBytes(as: name) }) {
      return ("scope", "OpenID Connect defines this scope. Choose another name.")
    }
    let isDescription = description.string.map(OperatorName.isDescription) ?? false
    return isDescription ? nil : ("description", OperatorName.descriptionRule)
  }

  /// - Source: RFC 6749 section 3.3.
  private static func isScope(_ name: String) -> Bool {
    name.utf8.allSatisfy { byte in
      byte.isVisible && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
  }
}

// MARK: What requests read

/// The APIs of apps.
package enum ResourceServers {
  /// Returns the API with an identifier, which is compared by bytes; nil if the app has none.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    _ identifier: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> ResourceServer? {
    if let known = context.app.provided(identifier, of: app) { return known }
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
    if let known = transaction.app.provided(identifier, of: transaction.app.id) { return known }
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
  /// An API that an operator has registered by the issuer without its slash comes before that of
  /// `/v1`, whose audience the same text is otherwise. Its tokens are good for `/v1` too.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func find(
    audience: String, at issuer: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> ResourceServer? {
    let identifier = ProvidedAPI.identifier(of: audience, at: issuer)
    if identifier.hasSameBytes(as: ProvidedAPI.userData.rawValue),
      !audience.hasSameBytes(as: issuer),
      let registered = try await find(audience, of: app, context)
    {
      return registered
    }
    return try await find(identifier, of: app, context)
  }

  /// Returns whether a text can be the identifier of an API.
  package nonisolated static func isIdentifier(_ text: String) -> Bool {
    (1...600).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible)
  }
}

package enum ResourceServerQueries {
  private static let columns = ResourceServerRecord.table.columns

  /// Served by `resource_servers_identifier`.
  static let find = Statement<ResourceServer, AppID, String>(
    "resource_servers.find",
    """
    select \(columns), '' from resource_servers r
    where r.app_id = $1 and r.identifier = $2
    """)

  /// Served by `resource_servers_identifier`.
  static let findAny = Statement<ResourceServer, AppID, TextArray>(
    "resource_servers.find_any",
    """
    select \(columns), '' from resource_servers r
    where r.app_id = $1 and r.identifier = any ($2::text[])
    """)
}

// MARK: What operators do

extension ResourceServerRecord {
  package static var taken: Failure { .resourceServerExists }

  /// The scopes of an API that each app has are those that its routes ask for.
  package static func faults(
    in record: ResourceServerRecord, _ change: RecordChange, of stored: ResourceServer?
  ) -> [ColumnFault] {
    guard let stored, stored.provided != nil,
      !record.scopes.elementsEqual(
        stored.scopes, by: { $0.name.hasSameBytes(as: $1.name) && $0.1.hasSameBytes(as: $1.1) })
    else { return [] }
    return [ColumnFault("/scopes", "provided", "Each app has this API with these scopes.")]
  }

  /// Removes the permissions of roles whose scopes are gone.
  @EventLoop package static func settle(_ before: ResourceServer, in transaction: Transaction) {
    _ = transaction.send(RemovedScopeQueries.settle, AppID(trusted: before.app), before.id)
  }

  /// Changes an API, and takes the scopes that it loses from all users.
  @EventLoop package static func change(
    _ key: String, of app: AppID?, by patch: RecordPatch, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> ResourceServer {
    let before = try await table.find(key, of: app, context)
    // Users lose a new scope that they had under its name before: an earlier removal may have been
    // interrupted.
    let new = try table.checked(patch, of: before).record.scopes.map(\.name)
      .filter { name in !before.scopes.contains { $0.name.hasSameBytes(as: name) } }
    try await RemovedScopes.forget(new, of: before.id, context)
    let after = try await table.change(key, of: app, by: patch, if: condition, context)
    let gone = before.scopes.map(\.name)
      .filter { name in !after.scopes.contains { $0.name.hasSameBytes(as: name) } }
    try await RemovedScopes.forget(gone, of: before.id, context)
    return after
  }

  /// Deletes an API with its grants and permissions.
  ///
  /// Tokens for it stay valid until they expire.
  /// - Throws: `.providedAPI` for one that each app has, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func delete(
    _ key: String, of app: AppID?, _ context: RequestContext
  ) async throws(Failure) {
    let server = try await table.find(key, of: app, context)
    guard server.provided == nil else { throw .providedAPI }
    try await RemovedScopes.forget(nil, of: server.id, context)
    try await table.delete(key, of: app, context)
  }
}
