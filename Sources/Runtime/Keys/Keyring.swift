package import EventLoop
package import Postgres

/// The keys that sign and verify the tokens of an app.
///
/// The first worker without a key for a purpose creates one. Workers that start together agree on
/// it, because the database accepts only one current key.
@EventLoop package final class Keyring {
  package let master: MasterKey
  private let database: Database
  private var apps: [AppID: AppKeys] = [:]
  /// The shortest time between loads for unknown keys, in nanoseconds.
  ///
  /// It is less than the time between the creation and the first use of a key.
  private static let loadInterval: UInt64 = 5_000_000_000
  /// The age at which a load starts in the background, in nanoseconds.
  private static let age: UInt64 = 20_000_000_000
  /// The age at which a token waits for a load, in nanoseconds: keys may have been retired or
  /// removed meanwhile.
  private static let staleAge: UInt64 = 40_000_000_000

  private let clock: @EventLoop () -> UInt64
  /// Creates RSA keys, which takes too long for the loop; few processes need it.
  private lazy var maker = BlockingPool(name: "keys", threads: 1, waiting: 64)

  /// - Parameters:
  ///   - master: the master key that encrypts the keys.
  ///   - database: the database that stores the keys.
  ///   - clock: a monotonic clock, in nanoseconds.
  package init(
    master: MasterKey,
    database: Database,
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
    if keys.signers[purpose] != nil {
      if !isFresh(keys) { try? await load(keys) }
      if let signer = keys.signers[purpose] { return signer }
    }
    try await load(keys)
    if keys.signers[purpose] == nil {
      let creation = keys.creation(for: purpose).begin { [self] () async throws(Failure) in
        try await create(for: purpose, of: app)
        // Twice, since a load in progress may have missed the new key.
        for _ in 0..<2 where keys.signers[purpose] == nil { try await load(keys) }
      }
      try await creation.value.get()
    }
    guard let signer = keys.signers[purpose] else {
      throw .internalError("no signing key for app \(app)")
    }
    return signer
  }

  /// Returns the key of a token of `app`; nil if the app has no such key.
  package func verifier(keyID: String, app: AppID) async throws(Failure) -> SigningKey? {
    let keys = keys(of: app)
    if keys.verifiers[keyID] != nil {
      if !isFresh(keys) { try? await load(keys) }
      return keys.verifiers[keyID]
    }
    if let last = keys.lastLoad, clock() - last < Self.loadInterval { return nil }
    try await load(keys)
    return keys.verifiers[keyID]
  }

  package func keys(of app: AppID) -> AppKeys {
    if let known = apps[app] { return known }
    let keys = AppKeys(app)
    apps[app] = keys
    return keys
  }

  /// Returns whether the cached keys may be used; starts a reload if they are old.
  package func isFresh(_ keys: AppKeys) -> Bool {
    let age = clock() - (keys.lastLoad ?? 0)
    if age > Self.age { _ = begin(keys) }
    return age <= Self.staleAge
  }

  private func load(_ keys: AppKeys) async throws(Failure) { try await begin(keys).value.get() }

  /// Loads the keys of an app; concurrent requests share one load.
  private func begin(_ keys: AppKeys) -> SharedTask<Void, Failure>.Outcome {
    keys.load.begin { [self] () async throws(Failure) in
      try await fetch(keys)
      // Not set after a failure, so that the next request retries: an unknown key is not yet an
      // invalid token.
      keys.lastLoad = clock()
    }
  }

  private func fetch(_ keys: AppKeys) async throws(Failure) {
    let rows: [SigningKeyRow]
    do throws(DatabaseError) {
      rows = try await database.read(KeyringQueries.load, keys.app)
    } catch {
      throw Failure(error)
    }
    // Keys without a row have expired or were removed.
    var found: [String: SigningKey] = [:]
    var signers: [KeyPurpose: SigningKey] = [:]
    for row in rows {
      guard let purpose = row.purpose else { continue }
      let key =
        if let known = keys.verifiers[row.keyID] { known } else {
          try opened(row, for: purpose, of: keys.app)
        }
      found[row.keyID] = key
      if row.signs { signers[purpose] = key }
    }
    keys.replace(by: found, signers)
  }

  private func opened(
    _ row: SigningKeyRow,
    for purpose: KeyPurpose,
    of app: AppID
  ) throws(Failure) -> SigningKey {
    do {
      let secret = try master.opened(row.sealed, as: "\(app) \(row.keyID)")
      return try SigningKey(id: row.keyID, for: purpose, secret: secret)
    } catch {
      throw .internalError(
        "signing key \(row.keyID) cannot be opened with this master key; `dossier key remove` removes it"
      )
    }
  }

  private func create(for purpose: KeyPurpose, of app: AppID) async throws(Failure) {
    let key = try await newKey(for: purpose, of: app)
    do throws(DatabaseError) {
      _ = try await database.answer(toWrite: KeyringQueries.create(key, of: app))
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

/// The cached keys of one app.
@EventLoop package final class AppKeys {
  package let app: AppID
  fileprivate private(set) var signers: [KeyPurpose: SigningKey] = [:]
  fileprivate private(set) var verifiers: [String: SigningKey] = [:]
  fileprivate var lastLoad: UInt64?
  fileprivate let load = SharedTask<Void, Failure>()
  private var creations: [KeyPurpose: SharedTask<Void, Failure>] = [:]
  /// The number of loads that removed keys; each makes cached verifications invalid.
  package private(set) var removals = 0

  package init(_ app: AppID) { self.app = app }

  /// Returns the shared task that creates a missing key, so that concurrent requests create only
  /// one.
  fileprivate func creation(for purpose: KeyPurpose) -> SharedTask<Void, Failure> {
    let creation = creations[purpose] ?? SharedTask()
    creations[purpose] = creation
    return creation
  }

  fileprivate func replace(by found: [String: SigningKey], _ signers: [KeyPurpose: SigningKey]) {
    if verifiers.keys.contains(where: { found[$0] == nil }) { removals += 1 }
    (verifiers, self.signers) = (found, signers)
  }
}

private struct SigningKeyRow: RowDecodable {
  let keyID: String
  /// Nil for a purpose that only a later version of this program knows.
  let purpose: KeyPurpose?
  let sealed: [UInt8]
  let signs: Bool

  init(from row: Row) throws(DatabaseError) {
    keyID = try row.text(0)
    purpose = KeyPurpose(rawValue: try row.text(1))
    sealed = try row.binary(2)
    signs = try row.bool(3)
  }
}

package enum KeyringQueries {
  /// Served by the primary key.
  ///
  /// For each purpose, it marks the newest key that is at least 30 seconds old as the signing key.
  /// By then every worker knows that key or may load it: the shortest time between loads is 5
  /// seconds. If all keys are younger, the oldest of them signs. If the current key was removed, no
  /// key signs: retired keys will soon stop verifying.
  fileprivate static let load = Statement<SigningKeyRow, AppID>(
    "keyring.load",
    """
    select k.key_id, k.purpose, k.private_key,
      bool_or(k.retires_at is null) over (partition by k.purpose) and row_number() over (
        partition by k.purpose
        order by s.is_known desc, case when s.is_known then k.created_at end desc, k.created_at,
          k.key_id) = 1
    from signing_keys k
    cross join lateral (select k.created_at <= now() - interval '30 seconds') s (is_known)
    where k.app_id = $1 and (k.retires_at is null or k.retires_at > now())
    """
  )

  /// Stores a key; returns no row if another worker was first.
  @EventLoop package static func create(_ key: NewSigningKey, of app: AppID) -> PendingQuery {
    PendingQuery(
      create,
      app,
      key.id,
      key.purpose,
      key.purpose.algorithm,
      key.publicKey,
      key.sealed
    )
  }

  private static let create = Statement<
    NoRow, AppID, String, KeyPurpose, String, BinaryBytes, BinaryBytes
  >(
    "keyring.create",
    """
    insert into signing_keys (app_id, key_id, purpose, algorithm, public_key, private_key)
    values ($1, $2, $3, $4, $5, $6)
    on conflict do nothing returning key_id
    """
  )

  package static let all: [any PreparedStatement] = [load, create]
}
