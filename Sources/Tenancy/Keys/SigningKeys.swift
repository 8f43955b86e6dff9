package import Runtime
import EventLoop
import JSON
package import Postgres

/// The administration of the keys that sign an app's tokens.
package enum SigningKeys {
  /// How long a retired key still verifies: the longest lifetime of an access token, and 5 minutes
  /// until every worker has loaded the new key.
  private static let verifying = Duration.seconds(86_400 + 300)

  /// Returns the public parts of the keys that sign or still verify, newest first.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func list(
    of app: String, _ context: RequestContext
  ) async throws(Failure) -> [SigningKeyInfo] {
    let found = try await context.list(SigningKeyQueries.list, app)
    guard let found else { throw .unknownApp }
    return found
  }

  /// Creates a new current key for each purpose that the app has keys for, and for native tokens.
  ///
  /// A worker signs with it only after all workers know it, within a minute. Retired keys verify
  /// until the last token they signed has expired. No user is logged out.
  /// - Throws: `.unknownApp`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func rotate(
    of app: AppID, _ context: RequestContext
  ) async throws(Failure) {
    let purposes = try await context.read(SigningKeyQueries.purposes, app, on: .large)
    var keys: [NewSigningKey] = []
    for purpose in KeyPurpose.allCases
    where purpose == .native || purposes.contains(purpose.rawValue) {
      keys.append(try await context.keys.newKey(for: purpose, of: app))
    }
    try await context.transaction { transaction async throws(Failure) in
      // Serializes rotations of one app.
      try await transaction.lockApp(app)
      for key in keys {
        // Repeats if a worker has created a key between the two statements.
        repeat {
          _ = transaction.send(SigningKeyQueries.retire, app, key.purpose, verifying)
        } while try await transaction.send(
          KeyringQueries.create(key, of: app), returning: String.self
        ).rows().isEmpty
        Event(
          "key_rotate",
          detail: ["key_id": .string(key.id), "purpose": .string(key.purpose.rawValue)]
        ).record(in: transaction, app: app)
      }
    }
  }

  /// Removes a key that has leaked or cannot be decrypted.
  ///
  /// Its signatures are rejected within a minute, and clients then refresh their tokens. If it was
  /// the current key, the next request that signs creates another.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ key: String, of app: AppID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.act("key_remove") { transaction async throws(Failure) in
      try await transaction.run(SigningKeyQueries.remove, app, key).first
    } recording: { removed in
      (app, ["key_id": .string(removed)])
    }
  }
}

/// A signing key as operators see it, without its secret.
package struct SigningKeyInfo: RowDecodable {
  package let id: String
  package let purpose: String
  package let algorithm: String
  package let createdAt: Timestamp
  /// The time until which the key verifies; nil for the current key.
  package let retiresAt: Timestamp?
  package let publicKey: PublicKey

  package init(from row: Row) throws(DatabaseError) {
    id = try row.text(0)
    purpose = try row.text(1)
    algorithm = try row.text(2)
    createdAt = try row.time(3)
    retiresAt = try row.time(ifAny: 4)
    publicKey = PublicKey(id: id, algorithm: algorithm, bytes: try row.binary(5))
  }
}

package enum SigningKeyQueries {
  /// Returns at least one row if the app exists.
  static let list = Statement<Found<SigningKeyInfo>, String>(
    "signing_keys.list",
    """
    select k.key_id, k.purpose, k.algorithm, k.created_at, k.retires_at, k.public_key
    from apps a
    left join signing_keys k on k.app_id = a.app_id
      and (k.retires_at is null or k.retires_at > now())
    where a.name = $1
    order by k.retires_at is not null, k.created_at desc, k.key_id
    """)

  /// Returns the purposes that an app has keys for.
  static let purposes = Statement<String, AppID>(
    "signing_keys.purposes", "select distinct purpose from signing_keys where app_id = $1"
  )

  static let retire = Statement<NoRow, AppID, KeyPurpose, Duration>(
    "signing_keys.retire",
    """
    update signing_keys set retires_at = now() + $3::interval
    where app_id = $1 and purpose = $2 and retires_at is null
    """)

  static let remove = Statement<String, AppID, String>(
    "signing_keys.remove",
    "delete from signing_keys where app_id = $1 and key_id = $2 returning key_id"
  )
}

extension PublicKey {
  /// Returns the keys that verify the tokens of an app, newest first.
  ///
  /// - Throws: `.unknownApp`, `.databaseUnavailable`.
  @EventLoop package static func all(
    for purpose: KeyPurpose, of app: String, _ context: RequestContext
  ) async throws(Failure) -> [PublicKey] {
    try await SigningKeys.list(of: app, context).filter { $0.purpose == purpose.rawValue }
      .map(\.publicKey)
  }
}
