import EventLoop
import JSON
package import Postgres

/// The keys that sign an app's access tokens, for those who administer them.
package enum SigningKeys {
  /// How long a key that signs no more still verifies, in seconds: the longest that an access token
  /// may be good for, and the time in which the last worker takes up the new key.
  private static let verifying = 86_400 + 300

  /// The keys of an app, the newest first, without secrets: `id, purpose, algorithm, current,
  /// created_at, retires_at` each, as a JSON array; those that verify no more are left out.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  @EventLoop package static func list(
    of app: String,
    for administrator: Administrator
  ) async throws(Failure) -> [UInt8] {
    let rows = try await administrator.store.read(SigningKeyQueries.list, app)
    guard let row = rows.first else { throw .unknownApp }
    return row.bytes
  }

  /// Makes a new current key.
  ///
  /// It is known to all workers before one signs by it, within a minute; the keys before verify on
  /// until the last token that they signed has expired. Nobody is logged out.
  /// - Throws: `.unknownApp`, `.overloaded`, `.unavailable`.
  @EventLoop package static func rotate(
    of app: String,
    by administrator: Administrator
  ) async throws(Failure) {
    let id = try await Apps.record(of: app, for: administrator).id
    let key = try NewSigningKey(for: id, administrator.store.keys.master)
    let isMade = try await administrator.transaction { transaction async throws(DatabaseError) in
      // Rotations follow one another.
      _ = try await transaction.run(AppsAdministrationQueries.lock, app)
      _ = try await transaction.run(SigningKeyQueries.retire, id, verifying)
      let made = try await transaction.run(
        KeyringQueries.create,
        id,
        key.id,
        key.publicKey,
        key.sealed
      )
      guard !made.isEmpty else { return false }
      try await administrator.record(
        "key_rotate",
        app: id,
        detail: ["key_id": .string(key.id)],
        in: transaction
      )
      return true
    }
    // The app's first key was made by a worker at that moment.
    guard isMade else { throw .overloaded(retryAfter: 1) }
  }

  /// Removes a key that got into the wrong hands, or that nobody can open.
  ///
  /// What it signed is refused within a minute: clients refresh their tokens. Where it was the current
  /// one, whoever signs next makes another.
  /// - Throws: `.notFound`, `.unknownApp`, `.unavailable`.
  @EventLoop package static func remove(
    _ key: String,
    of app: String,
    by administrator: Administrator
  ) async throws(Failure) {
    let id = try await Apps.record(of: app, for: administrator).id
    let isFound = try await administrator.transaction { transaction async throws(DatabaseError) in
      let removed = try await transaction.run(SigningKeyQueries.remove, id, key)
      guard !removed.isEmpty else { return false }
      try await administrator.record(
        "key_remove",
        app: id,
        detail: ["key_id": .string(key)],
        in: transaction
      )
      return true
    }
    guard isFound else { throw .notFound }
  }
}

package enum SigningKeyQueries {
  /// One row when there is such an app.
  static let list = Statement<JSONText, String>(
    "signing_keys.list",
    """
    select (select coalesce(json_agg(json_build_object(
        'id', k.key_id, 'purpose', k.purpose, 'algorithm', k.algorithm,
        'current', k.retires_at is null, 'created_at', k.created_at,
        'retires_at', k.retires_at) order by k.retires_at is not null,
          k.created_at desc, k.key_id), '[]')
      from signing_keys k
      where k.app_id = a.app_id and (k.retires_at is null or k.retires_at > now()))::text
    from apps a where a.name = $1
    """
  )

  static let retire = Statement<NoRow, AppID, Int>(
    "signing_keys.retire",
    """
    update signing_keys set retires_at = now() + $2::bigint * interval '1 second'
    where app_id = $1 and purpose = 'access' and retires_at is null
    """
  )

  static let remove = Statement<String, AppID, String>(
    "signing_keys.remove",
    "delete from signing_keys where app_id = $1 and key_id = $2 returning key_id"
  )

  package static let all: [any PreparedStatement] = [list, retire, remove]
}
