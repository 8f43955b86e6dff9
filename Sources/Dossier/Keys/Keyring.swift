package import EventLoop
package import Postgres

/// The keys that sign and verify the tokens of an app.
///
/// The first worker that finds none for a purpose makes one; all that start together agree on it,
/// because the database takes one current key only.
@EventLoop package final class Keyring {
  package let master: MasterKey
  private let database: Database
  private var apps: [AppID: AppKeys] = [:]
  /// A token with an unknown key makes us look for new keys, not more often than this, in
  /// nanoseconds; less than the time that a key is there before it signs.
  private static let loadInterval: UInt64 = 5_000_000_000
  /// How long a rotation may go unnoticed, in nanoseconds.
  private static let age: UInt64 = 20_000_000_000
  /// After so many nanoseconds without a look, a token waits for one: what signed before a long
  /// idle time may have retired or been removed.
  private static let staleAge: UInt64 = 40_000_000_000

  private let clock: @EventLoop () -> UInt64
  /// Makes keys of RSA, which takes too long for the loop; few processes ever need it.
  private lazy var maker = BlockingPool(name: "keys", threads: 1, waiting: 64)

  /// - Parameters:
  ///   - master: what seals the keys.
  ///   - database: where they are.
  ///   - clock: nanoseconds that only grow.
  package init(
    master: MasterKey,
    database: Database,
    clock: @escaping @EventLoop () -> UInt64 = { EventLoop.now() }
  ) {
    self.master = master
    self.database = database
    self.clock = clock
  }

  /// The key that signs now.
  ///
  /// - Throws: `.overloaded`, `.unavailable`.
  func signer(for app: AppID, _ purpose: KeyPurpose) async throws(Failure) -> SigningKey {
    let keys = keys(of: app)
    if keys.signers[purpose] != nil {
      if !isFresh(keys) { try? await load(keys) }
      if let signer = keys.signers[purpose] { return signer }
    }
    try await load(keys)
    if keys.signers[purpose] == nil {
      let creation = keys.creation(for: purpose).begin { [self] () async throws(Failure) in
        try await create(for: purpose, of: app)
        // Twice, as a load that was under way may not have seen it.
        for _ in 0..<2 where keys.signers[purpose] == nil { try await load(keys) }
      }
      try await creation.value.get()
    }
    guard let signer = keys.signers[purpose] else {
      throw .unforeseen("no signing key for app \(app)")
    }
    return signer
  }

  /// The key of a token that claims to be of `app`; nil when the app has no such key.
  func verifier(keyID: String, app: AppID) async throws(Failure) -> SigningKey? {
    let keys = keys(of: app)
    if keys.verifiers[keyID] != nil {
      if !isFresh(keys) { try? await load(keys) }
      return keys.verifiers[keyID]
    }
    if let last = keys.lastLoad, clock() - last < Self.loadInterval { return nil }
    try await load(keys)
    return keys.verifiers[keyID]
  }

  func keys(of app: AppID) -> AppKeys {
    if let known = apps[app] { return known }
    let keys = AppKeys(app)
    apps[app] = keys
    return keys
  }

  /// Whether what is known of an app's keys may serve; when it grows old, a look begins meanwhile.
  func isFresh(_ keys: AppKeys) -> Bool {
    let age = clock() - (keys.lastLoad ?? 0)
    if age > Self.age { _ = begin(keys) }
    return age <= Self.staleAge
  }

  private func load(_ keys: AppKeys) async throws(Failure) { try await begin(keys).value.get() }

  /// Loads the keys of an app; callers that come meanwhile wait for the same load.
  private func begin(_ keys: AppKeys) -> SharedTask<Void, Failure>.Outcome {
    keys.load.begin { [self] () async throws(Failure) in
      try await fetch(keys)
      // After a failure the next caller tries again: an unknown key is not yet an invalid token.
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
    // What is in no row any more has retired, or was removed.
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
      throw .unforeseen(
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

  /// Makes a key, which is not stored yet.
  ///
  /// - Throws: `.overloaded`.
  func newKey(for purpose: KeyPurpose, of app: AppID) async throws(Failure) -> NewSigningKey {
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

/// The keys of one app, as a worker knows them.
@EventLoop final class AppKeys {
  let app: AppID
  fileprivate private(set) var signers: [KeyPurpose: SigningKey] = [:]
  fileprivate private(set) var verifiers: [String: SigningKey] = [:]
  fileprivate var lastLoad: UInt64?
  fileprivate let load = SharedTask<Void, Failure>()
  private var creations: [KeyPurpose: SharedTask<Void, Failure>] = [:]
  /// Grows whenever a key has gone: tokens that were verified before are verified anew.
  private(set) var removals = 0

  init(_ app: AppID) { self.app = app }

  /// Of those who want a key that is not there, one makes it, and all have the same outcome.
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
  /// Nil for one that only a later version of this server has.
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
  /// Of each purpose the newest key signs that has been there for 30 seconds: by then any worker that
  /// is shown a token of it either knows the key or may look for it, as it does not within 5 seconds
  /// of its last look. Of keys that are all newer the first one signs. None does where the current
  /// key was removed: those before it will soon verify no more.
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

  /// Stores a key; no row when another was first.
  @EventLoop static func create(_ key: NewSigningKey, of app: AppID) -> StatementCall {
    StatementCall(
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
