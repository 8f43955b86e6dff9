import EventLoop
import JSON
package import Postgres
package import Runtime

extension ResourceServers {
  /// Creates an API.
  ///
  /// - Returns: the API.
  /// - Throws: `.invalid`, `.resourceServerExists`, `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func create(
    _ server: ResourceServerDescription, _ context: RequestContext
  ) async throws(Failure) -> ResourceServerRecord {
    let (change, scopes, claims) = (server.details, server.details.scopes, server.details.claims)
    try check(server)
    let app = try await Apps.record(of: server.app, context).id
    let id = ResourceServerID()
    return try await context.transaction { transaction async throws(Failure) in
      try await transaction.send(
        ResourceServerAdministrationQueries.create,
        app,
        id,
        server.identifier,
        server.name,
        TextBytes(scopes.serialized()),
        change.tokenSeconds ?? ResourceServerRules.defaultTokenSeconds,
        change.allowsOfflineAccess ?? false,
        change.skipsConsent ?? true,
        TextBytes(claims.serialized()),
        change.enforcesPolicies ?? false,
        (change.tokenDialect ?? .standard).rawValue
      ).rows(duplicate: .resourceServerExists)
      var detail = JSONObject([
        ("resource_server_id", .string(id.text)), ("identifier", .string(server.identifier)),
        ("name", .string(server.name)),
      ])
      for (name, value) in change.audited { detail[name] = value }
      Event("resource_server_create", detail: .object(detail)).record(in: transaction, app: app)
      return try await transaction.run(ResourceServerAdministrationQueries.lock, id)
    }.first.orUnforeseen("an API that was made")
  }

  /// Checks an API to create.
  ///
  /// - Throws: `.invalid` with every fault.
  package static func check(_ server: ResourceServerDescription) throws(Failure) {
    var faults: [FieldError] = []
    if !isIdentifier(server.identifier) {
      faults.append(
        FieldError(
          "/identifier", "identifier",
          "An identifier must have 1 to 600 printable ASCII characters, without spaces."
        )
      )
    }
    if let fault = OperatorName.labelFault(in: server.name) { faults.append(fault) }
    faults += ResourceServerRules.faults(in: server.details)
    faults += ResourceServerRules.faults(inScopes: server.details.scopes)
    faults += ClaimMap.faults(in: server.details.claims, at: "/claims")
    guard faults.isEmpty else { throw .invalid(faults) }
  }

  /// Returns the APIs of all apps, or of one, oldest first.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func list(
    of app: String?, _ context: RequestContext
  ) async throws(Failure) -> [ResourceServerRecord] {
    try await context.read(ResourceServerAdministrationQueries.list, app)
  }

  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func record(
    of id: ResourceServerID, _ context: RequestContext
  ) async throws(Failure) -> ResourceServerRecord {
    let servers = try await context.read(ResourceServerAdministrationQueries.show, id)
    guard let server = servers.first else { throw .notFound }
    return server
  }

  /// Changes an API, and increments the version even if no value differs.
  ///
  /// - Throws: `.invalid`, `.preconditionFailed`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func change(
    _ id: ResourceServerID, _ change: ResourceServerChange, if condition: VersionCondition,
    _ context: RequestContext
  ) async throws(Failure) -> ResourceServerRecord {
    let faults = ResourceServerRules.faults(in: change)
    guard faults.isEmpty else { throw .invalid(faults) }
    try await forgetFormerScopes(change.scopes, of: id, context)
    let (changed, gone) = try await context.transaction { transaction async throws(Failure) in
      let found = try await transaction.run(ResourceServerAdministrationQueries.lock, id)
      guard let before = found.first else { throw .notFound }
      try condition.require(before.version)
      let scopes = change.replacesScopes ? change.scopes : before.scopes.merging(change.scopes)
      let claims = before.claims.merging(change.claims)
      let faults =
        ResourceServerRules.faults(inScopes: scopes) + ClaimMap.faults(in: claims, at: "/claims")
      guard faults.isEmpty else { throw .invalid(faults) }
      _ = transaction.send(
        ResourceServerAdministrationQueries.change,
        id,
        change.name ?? before.server.name,
        TextBytes(scopes.serialized()),
        change.tokenSeconds ?? Int(before.server.tokenLifetime.components.seconds),
        change.allowsOfflineAccess ?? before.server.allowsOfflineAccess,
        change.skipsConsent ?? before.server.skipsConsent,
        TextBytes(claims.serialized()),
        change.enforcesPolicies ?? before.server.enforcesPolicies,
        (change.tokenDialect ?? before.server.tokenDialect).rawValue
      )
      _ = transaction.send(RolePermissionQueries.settle, before.appID, id)
      var detail = change.audited
      detail["resource_server_id"] = .string(id.text)
      Event("resource_server_change", detail: .object(detail)).record(
        in: transaction, app: before.appID
      )
      let after = try await transaction.run(ResourceServerAdministrationQueries.lock, id)
      let gone = before.scopes.filter { scopes[$0.key] == nil }.map(\.key)
      return (try after.first.orUnforeseen("an API that was changed"), gone)
    }
    try await Roles.forget(gone, of: id, context)
    return changed
  }

  /// Takes new scopes from users who had an earlier scope of the name.
  ///
  /// The removal of the earlier scope may have been interrupted.
  @EventLoop private static func forgetFormerScopes(
    _ patch: JSONObject, of id: ResourceServerID, _ context: RequestContext
  ) async throws(Failure) {
    guard patch.count > 0 else { return }
    let stored = try await record(of: id, context).scopes
    let new = JSONObject(
      patch.filter { $0.value != .null && stored[$0.key] == nil }.map { ($0.key, $0.value) }
    )
    // A change with an invalid name fails.
    guard ResourceServerRules.faults(inScopes: new).isEmpty else { return }
    try await Roles.forget(new.map(\.key), of: id, context)
  }

  /// Deletes an API with its grants and permissions.
  ///
  /// Tokens for it stay valid until they expire.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func delete(
    _ id: ResourceServerID, _ context: RequestContext
  ) async throws(Failure) {
    try await Roles.forget(nil, of: id, context)
    try await context.act("resource_server_delete") { transaction async throws(Failure) in
      try await transaction.run(ResourceServerAdministrationQueries.delete, id).first
    } recording: { app in
      (AppID(trusted: app), ["resource_server_id": .string(id.text)])
    }
  }
}

extension SQL {
  /// The select of a `ResourceServerRecord`, without a condition.
  fileprivate static let resourceServers: SQL = """
    select \(.resourceServer), r.app_id, a.name, r.version, r.created_at
    from resource_servers r join apps a on a.app_id = r.app_id
    """
}

package enum ResourceServerAdministrationQueries {
  /// Violates `resource_servers_identifier` if the app has an API with the identifier.
  static let create = Statement<
    NoRow, AppID, ResourceServerID, String, String, TextBytes, Int, Bool, Bool, TextBytes, Bool,
    String
  >(
    "resource_servers.create",
    """
    insert into resource_servers (app_id, resource_server_id, identifier, name, scopes,
      token_seconds, allows_offline_access, skips_consent, claims, enforces_policies, token_dialect)
    values ($1, $2, $3, $4, $5::json, $6, $7, $8, $9::json, $10, $11)
    """)

  static let list = Statement<ResourceServerRecord, String?>(
    "resource_servers.list",
    """
    \(.resourceServers)
    where $1::text is null or a.name = $1
    order by r.resource_server_id
    """)

  static let show = Statement<ResourceServerRecord, ResourceServerID>(
    "resource_servers.show", "\(.resourceServers) where r.resource_server_id = $1"
  )

  /// Locks an API, so that concurrent changes of it run one after the other.
  static let lock = Statement<ResourceServerRecord, ResourceServerID>(
    "resource_servers.lock", "\(.resourceServers) where r.resource_server_id = $1 for update of r"
  )

  static let change = Statement<
    NoRow, ResourceServerID, String, TextBytes, Int, Bool, Bool, TextBytes, Bool, String
  >(
    "resource_servers.change",
    """
    update resource_servers set name = $2, scopes = $3::json, token_seconds = $4,
      allows_offline_access = $5, skips_consent = $6, claims = $7::json, enforces_policies = $8,
      token_dialect = $9, version = version + 1
    where resource_server_id = $1
    """)

  /// Returns the id of the app.
  static let delete = Statement<String, ResourceServerID>(
    "resource_servers.delete",
    "delete from resource_servers where resource_server_id = $1 returning app_id"
  )

  package static let all: [any PreparedStatement] = [create, list, show, lock, change, delete]
}
