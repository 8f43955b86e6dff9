package import Runtime
import EventLoop
import Encoding
package import Postgres

/// The clients of apps and of the operator.
package enum Clients {
  /// Returns whether a text has the form of a client secret, valid or not.
  package nonisolated static func isSecret(_ text: String) -> Bool {
    text.utf8.starts(with: Credential.Kind.clientSecret.rawValue.utf8)
  }

  /// Authenticates a client by its secret alone, and reads it from the database.
  ///
  /// - Throws: `.unknownClient` if the secret is forged, or the client deleted or disabled;
  ///   `.databaseUnavailable`.
  @EventLoop package static func client(
    by secret: String, _ context: RequestContext
  ) async throws(Failure) -> Client {
    // The MAC in the secret rejects guesses without a database query.
    guard let credential = Credential(.clientSecret, secret, context.keys.master),
      let client = try await client(credential.hash(context.keys.master), context)
    else { throw .unknownClient }
    return client
  }

  /// Returns a client of an app, and whether a secret is the client's.
  ///
  /// The MAC is compared in constant time, and the database compares keyed hashes. A secret that the
  /// client brought from another server has no MAC.
  /// - Returns: nil if the client is unknown, disabled or another app's.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func client(
    _ id: ClientID, showing secret: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> (client: Client, isAuthenticated: Bool)? {
    let hashes = hashes(of: secret, of: id, context.keys.master)
    let shown = TextArray(hashes.map { String(hexadecimal: $0.bytes) })
    return try await context.first(ClientQueries.findShowing, id, app, shown)
      .map { ($0.client, $0.isAuthenticated) }
  }

  /// Returns the hashes that the database may have of a secret: one, or one for each master key.
  private nonisolated static func hashes(
    of secret: String, of client: ClientID, _ key: MasterKey
  ) -> [BinaryBytes] {
    guard isSecret(secret) else { return GivenSecret.hashes(of: secret, of: client, key) }
    return Credential(.clientSecret, secret, key).map { [$0.hash(key)] } ?? []
  }

  @EventLoop private static func client(
    _ hash: BinaryBytes, _ context: RequestContext
  ) async throws(Failure) -> Client? {
    try await context.first(ClientQueries.authenticate, hash)
  }

  /// Returns a client of an app.
  ///
  /// - Returns: nil if the client is unknown, disabled or another app's.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func client(
    _ id: ClientID, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> Client? {
    try await context.first(ClientQueries.find, id, app)
  }

  /// Adds the same read to a batch.
  @EventLoop package static func addRead(
    _ id: ClientID, of app: AppID, to batch: inout ReadBatch
  ) -> BatchRead<Client?> {
    let place = batch.add(ClientQueries.find, id, app)
    return { (results) throws(Failure) in try results.first(place) }
  }

  /// Returns a client of an app, also a disabled one.
  ///
  /// - Returns: nil if the client is unknown or another app's.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func known(
    _ id: ClientID, of app: AppID, in transaction: Transaction
  ) async throws(Failure) -> Client? {
    try await transaction.run(ClientQueries.known, id, app).first
  }
}

extension SQL {
  /// The columns of a `Client`, of the client `c`.
  package static let clientColumns: SQL =
    "c.client_id, c.app_id, c.kind, c.name, c.scope, c.settings"

  /// The select of a `Client`, without a condition.
  fileprivate static let client: SQL = "select \(clientColumns) from clients c"
}

/// A client, and whether a secret is the client's.
struct ShownClient: RowDecodable {
  let client: Client
  let isAuthenticated: Bool

  init(from row: Row) throws(DatabaseError) {
    client = try Client(from: row)
    isAuthenticated = try row.bool(6)
  }
}

package enum ClientQueries {
  /// Returns the client that has a secret.
  ///
  /// Served by `clients_secret_hash_key`.
  static let authenticate = Statement<Client, BinaryBytes>(
    "clients.authenticate",
    """
    \(.client)
    where secret_hash = $1 and disabled_at is null
    """)

  /// Served by the primary key.
  static let find = Statement<Client, ClientID, AppID>(
    "clients.find",
    """
    \(.client)
    where client_id = $1 and app_id = $2 and disabled_at is null
    """)

  /// Served by the primary key.
  ///
  /// - Parameter 3: the hashes that the database may have of a secret, in hexadecimal.
  static let findShowing = Statement<ShownClient, ClientID, AppID, TextArray>(
    "clients.find_showing",
    """
    select \(.clientColumns), coalesce(encode(secret_hash, 'hex') = any ($3::text[]), false)
    from clients c where client_id = $1 and app_id = $2 and disabled_at is null
    """)

  /// Served by the primary key.
  static let known = Statement<Client, ClientID, AppID>(
    "clients.known",
    """
    \(.client)
    where client_id = $1 and app_id = $2
    """)
}
