package import EventLoop
package import Postgres

/// The keys that sign and verify the tokens of an app.
///
/// The first worker without a key for a purpose creates one. Workers that start together agree on
/// it, because the database accepts only one current key.
@EventLoop package final class Keyring {
  package let master: MasterKey
  private let database: Database
  private let clock: @EventLoop () -> UInt64
  private var apps: [AppID: AppKeys] = [:]
  /// Creates RSA keys, which takes too long for the loop; few processes need it.
  private lazy var maker = BlockingPool(name: "keys", threads: 1, waiting: 64)

  /// - Parameters:
  ///   - master: the master key that encrypts the keys.
  ///   - database: the database that stores the keys.
  ///   - clock: a monotonic clock, in nanoseconds.
  package init(
    master: MasterKey, database: Database,
    clock: @escaping @EventLoop () -> UInt64 = { EventLoop.now() }
  ) {
    self.master = master
    self.database = database
    self.clock = clock
  }

  /// Returns the current signing key.
  ///
  /// - Throws: `.overloaded`, `.databaseUnavailable`.
  package func signer(for app: AppID, _ purpose: KeyPurpose) async throws(Failure) -> SigningKey {
    let keys = keys(of: app)
    if let signer = try await keys.signer(for: purpose) { return signer }
    try await keys.creation(for: purpose).begin { [self] () async throws(Failure) in
      try await create(for: purpose, of: app)
      try await keys.reload()
    }.value.get()
    guard let signer = try await keys.signer(for: purpose) else {
      throw .internalError(reason: "no signing key for app \(app)")
    }
    return signer
  }

  /// Returns the key of a token of `app`; nil if the app has no such key.
  package func verifier(keyID: String, app: AppID) async throws(Failure) -> SigningKey? {
    try await keys(of: app).verifier(keyID)
  }

  package func keys(of app: AppID) -> AppKeys {
    if let known = apps[app] { return known }
    let keys = AppKeys(app, master, database, clock)
    apps[app] = keys
    return keys
  }

  private func create(for purpose: KeyPurpose, of app: AppID) async throws(Failure) {
    let key = try await newKey(for: purpose, of: app)
    do throws(DatabaseError) {
      _ = try await database.answer(to: KeyringQueries.create(key, of: app), on: .exclusive)
    } catch {
      throw Failure(error)
    }
  }

  /// Creates a key without storing it.
  ///
  /// - Throws: `.overloaded`.
  package func newKey(for purpose: KeyPurpose, of app: AppID) async throws(Failure) -> NewSigningKey
  {
    guard purpose == .openID else { return try NewSigningKey(for: purpose, of: app, master) }
    let made: Result<NewSigningKey, Failure>
    do throws(BlockingPoolError) {
      made = try await maker.run { [master] in
        Result { () throws(Failure) in try NewSigningKey(for: purpose, of: app, master) }
      }
    } catch {
      throw .overloaded(retryAfter: .seconds(1))
    }
    return try made.get()
  }
}

package enum KeyringQueries {
  /// Stores a key; returns no row if another worker was first.
  @EventLoop package static func create(_ key: NewSigningKey, of app: AppID) -> PendingQuery {
    PendingQuery(create, app, key.id, key.purpose, key.purpose.algorithm, key.publicKey, key.sealed)
  }

  static let create = Statement<
    String, AppID, String, KeyPurpose, String, BinaryBytes, BinaryBytes
  >(
    "keyring.create",
    """
    insert into signing_keys (app_id, key_id, purpose, algorithm, public_key, private_key)
    values ($1, $2, $3, $4, $5, $6)
    on conflict do nothing returning key_id
    """)
}
