import EventLoop
import JSON
package import Postgres
package import Runtime
import Records

/// The scopes that a client gets at an API by its own secret.
package struct ClientGrant: RowDecodable {
  package let server: ResourceServerID
  /// The identifier of the API.
  package let identifier: String
  /// The name of the API.
  package let name: String
  package let scopes: [String]

  package init(from row: Row) throws(DatabaseError) {
    server = try row.id(0)
    identifier = try row.text(1)
    name = try row.text(2)
    scopes = try row.text(3).split(separator: " ").map(String.init)
  }
}

/// A grant with its client.
package struct AppGrant: RowDecodable {
  package let client: ClientID
  package let grant: ClientGrant

  package init(from row: Row) throws(DatabaseError) {
    grant = try ClientGrant(from: row)
    client = try row.id(4)
  }
}

/// The scopes that clients get at APIs by their own secret, without a user.
///
/// Scopes that an API no longer has are left out of each result.
/// - Source: RFC 6749 section 4.4.
package enum ClientGrants {
  /// Returns the scopes of a client at an API; nil without a grant.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func scopes(
    of client: ClientID, at server: ResourceServerID, app: AppID, _ context: RequestContext
  ) async throws(Failure) -> Scopes? {
    try await context.first(ClientGrantQueries.scopes, app, client, server).map { Scopes($0) }
  }

  /// Returns the grants of a client, sorted by the ids of the APIs.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func list(
    of client: ClientID, _ context: RequestContext
  ) async throws(Failure) -> [ClientGrant] {
    guard let grants = try await context.list(ClientGrantQueries.list, client) else {
      throw .notFound
    }
    return grants
  }

  /// Returns the grants of all clients of the app of a request, or of one, sorted by their ids.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func list(
    ofClient client: ClientID? = nil, inApp context: RequestContext
  ) async throws(Failure) -> [AppGrant] {
    try await context.read(ClientGrantQueries.ofApp, context.app.id, client?.text)
  }

  /// Sets the scopes of a client at an API of its app.
  ///
  /// - Returns: the grant, and whether the client had none there.
  /// - Throws: `.invalid` if the API lacks a scope, `.publicClient`, `.grantExists` if the client has
  ///   a grant that must be new, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func set(
    _ scopes: [String], of client: ClientID, at server: ResourceServerID, mustBeNew: Bool = false,
    _ context: RequestContext
  ) async throws(Failure) -> (grant: ClientGrant, isNew: Bool) {
    try await context.transaction { transaction async throws(Failure) in
      // The locks keep both until the grant is stored.
      let clients = try await transaction.run(
        ClientRecord.table.statements.lock, nil, client.text)
      let servers = try await transaction.run(
        ResourceServerRecord.table.statements.lock, nil, server.text)
      guard let client = clients.first, let server = servers.first, client.app == server.app
      else { throw .notFound }
      let app = AppID(trusted: server.app)
      guard !client.kind.isPublic else { throw .publicClient }
      let faults = scopes.enumerated().compactMap { index, scope in
        !server.scopes.contains { $0.name.hasSameBytes(as: scope) }
          ? FieldError("/scopes/\(index)", "choice", "The API has no such scope.") : nil
      }
      guard faults.isEmpty else { throw .invalid(faults) }
      let names = server.scopes.map(\.name).filter { name in
        scopes.contains(where: name.hasSameBytes)
      }
      let isNew = try await transaction.run(
        ClientGrantQueries.scopes, app, client.id, server.id
      ).isEmpty
      guard isNew || !mustBeNew else { throw .grantExists }
      _ = transaction.send(
        ClientGrantQueries.set, app, client.id, server.id, names.joined(separator: " ")
      )
      Event(
        "client_grant_set",
        detail: [
          "client_id": .string(client.id.text), "resource_server_id": .string(server.id.text),
          "scopes": .array(names.map(JSON.string)),
        ]
      ).record(in: transaction, app: app)
      let grants = try await transaction.run(ClientGrantQueries.list, client.id)
      let grant = grants.lazy.compactMap(\.item).first { $0.server == server.id }
      return (try grant.orUnforeseen("a grant that was set"), isNew)
    }
  }

  /// Removes the scopes of a client at an API.
  ///
  /// Tokens that the client has got stay valid until they expire.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    of client: ClientID, at server: ResourceServerID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.act("client_grant_remove") { transaction async throws(Failure) in
      try await transaction.run(ClientGrantQueries.remove, client, server).first
    } recording: { app in
      (
        AppID(trusted: app),
        ["client_id": .string(client.text), "resource_server_id": .string(server.text)]
      )
    }
  }
}

extension SQL {
  /// The scopes of the grant `g` that its API `r` still has, in the order of the grant.
  fileprivate static let grantedScopes: SQL = """
    array_to_string(array(
      select s from unnest(string_to_array(g.scope, ' ')) with ordinality u (s, n)
      where r.scopes -> s is not null order by n), ' ')
    """
}

package enum ClientGrantQueries {
  /// Served by the primary key.
  static let scopes = Statement<String, AppID, ClientID, ResourceServerID>(
    "client_grants.scopes",
    """
    select \(.grantedScopes)
    from client_grants g join resource_servers r using (app_id, resource_server_id)
    where g.app_id = $1 and g.client_id = $2 and g.resource_server_id = $3
    """)

  /// Returns at least one row if the client exists.
  static let list = Statement<Found<ClientGrant>, ClientID>(
    "client_grants.list",
    """
    select r.resource_server_id, r.identifier, r.name, \(.grantedScopes)
    from clients c
    left join client_grants g on g.app_id = c.app_id and g.client_id = c.client_id
    left join resource_servers r
      on r.app_id = g.app_id and r.resource_server_id = g.resource_server_id
    where c.client_id = $1
    order by r.resource_server_id
    """)

  /// - Parameter 2: the client; null for all.
  static let ofApp = Statement<AppGrant, AppID, String?>(
    "client_grants.of_app",
    """
    select r.resource_server_id, r.identifier, r.name, \(.grantedScopes), g.client_id
    from client_grants g join resource_servers r using (app_id, resource_server_id)
    where g.app_id = $1 and ($2::text is null or g.client_id = $2)
    order by g.client_id, r.resource_server_id
    """)

  static let set = Statement<NoRow, AppID, ClientID, ResourceServerID, String>(
    "client_grants.set",
    """
    insert into client_grants (app_id, client_id, resource_server_id, scope)
    values ($1, $2, $3, $4)
    on conflict (app_id, client_id, resource_server_id) do update set scope = excluded.scope
    """)

  /// Returns the id of the app.
  static let remove = Statement<String, ClientID, ResourceServerID>(
    "client_grants.remove",
    """
    delete from client_grants where client_id = $1 and resource_server_id = $2 returning app_id
    """)
}
