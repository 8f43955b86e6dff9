package import EventLoop
package import Postgres

/// The keys that sign and verify the access tokens of an app.
///
/// The first worker that finds none makes one; all that start together agree on it, because the
/// database takes one current key only.
@EventLoop package final class Keyring {
  package let master: MasterKey
  private let database: Database
  private var signers: [AppID: SigningKey] = [:]
  private var verifiers: [AppID: [String: SigningKey]] = [:]
  private var lastLoad: [AppID: UInt64] = [:]
  private var loads: [AppID: SharedTask<Void, Failure>] = [:]
  /// A token with an unknown key makes us look for new keys, not more often than this, in
  /// nanoseconds; less than the time that a key is there before it signs.
  private static let loadInterval: UInt64 = 5_000_000_000
  /// How long a rotation may go unnoticed, in nanoseconds.
  private static let age: UInt64 = 20_000_000_000
  /// After so many nanoseconds without a look, a token waits for one: what signed before a long
  /// idle time may have retired.
  private static let staleAge: UInt64 = 40_000_000_000

  private let clock: @EventLoop () -> UInt64

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
  func signer(for app: AppID) async throws(Failure) -> SigningKey {
    if let signer = signers[app] {
      guard clock() - (lastLoad[app] ?? 0) > Self.staleAge else {
        refresh(app)
        return signer
      }
      try? await load(app)
      if let signer = signers[app] { return signer }
    }
    try await load(app)
    if signers[app] == nil {
      try await create(for: app)
      try await load(app)
    }
    guard let signer = signers[app] else { throw .unforeseen("no signing key for app \(app)") }
    return signer
  }

  /// The key of a token that claims to be of `app`; nil when the app has no such key.
  func verifier(keyID: String, app: AppID) async throws(Failure) -> SigningKey? {
    if let verifier = verifiers[app]?[keyID] {
      refresh(app)
      return verifier
    }
    if let last = lastLoad[app], clock() - last < Self.loadInterval { return nil }
    try await load(app)
    return verifiers[app]?[keyID]
  }

  /// Looks for a rotation, now and then; what is known serves on meanwhile.
  private func refresh(_ app: AppID) {
    guard clock() - (lastLoad[app] ?? 0) > Self.age else { return }
    _ = begin(app)
  }

  private func load(_ app: AppID) async throws(Failure) { try await begin(app).value.get() }

  /// Loads the keys of an app; callers that come meanwhile wait for the same load.
  private func begin(_ app: AppID) -> SharedTask<Void, Failure>.Outcome {
    let load = loads[app] ?? SharedTask()
    loads[app] = load
    return load.begin { [self] () async throws(Failure) in
      defer { lastLoad[app] = clock() }
      try await fetch(app)
    }
  }

  private func fetch(_ app: AppID) async throws(Failure) {
    let rows: [SigningKeyRow]
    do throws(DatabaseError) {
      rows = try await database.read(KeyringQueries.load, app)
    } catch {
      throw Failure(error)
    }
    // What is in no row any more has retired, or was removed.
    var found: [String: SigningKey] = [:]
    var signer: SigningKey?
    for row in rows {
      let key = if let known = verifiers[app]?[row.keyID] { known } else { try opened(row, app) }
      found[row.keyID] = key
      if row.signs { signer = key }
    }
    verifiers[app] = found
    signers[app] = signer
  }

  private func opened(_ row: SigningKeyRow, _ app: AppID) throws(Failure) -> SigningKey {
    do {
      let secret = try master.opened(row.sealed, as: "\(app) \(row.keyID)")
      return try SigningKey(id: row.keyID, secret: secret)
    } catch {
      throw .unforeseen(
        "signing key \(row.keyID) cannot be opened with this master key; `dossier key remove` removes it"
      )
    }
  }

  private func create(for app: AppID) async throws(Failure) {
    let key = try NewSigningKey(for: app, master)
    do throws(DatabaseError) {
      _ = try await database.write(
        KeyringQueries.create,
        app,
        key.id,
        key.publicKey,
        key.sealed
      )
    } catch {
      throw Failure(error)
    }
  }
}

private struct SigningKeyRow: RowDecodable {
  let keyID: String
  let sealed: [UInt8]
  let signs: Bool

  init(from row: Row) throws(DatabaseError) {
    keyID = try row.text(0)
    sealed = try row.binary(1)
    signs = try row.bool(2)
  }
}

package enum KeyringQueries {
  /// Served by the primary key.
  ///
  /// The newest key signs that has been there for 30 seconds: by then any worker that is shown a
  /// token of it either knows the key or may look for it, as it does not within 5 seconds of its
  /// last look. Of keys that are all newer the first one signs.
  fileprivate static let load = Statement<SigningKeyRow, AppID>(
    "keyring.load",
    """
    select k.key_id, k.private_key, row_number() over (
      order by s.is_known desc, case when s.is_known then k.created_at end desc, k.created_at,
        k.key_id) = 1
    from signing_keys k
    cross join lateral (select k.created_at <= now() - interval '30 seconds') s (is_known)
    where k.app_id = $1 and k.purpose = 'access' and (k.retires_at is null or k.retires_at > now())
    """
  )

  /// No row when another was first.
  static let create = Statement<String, AppID, String, BinaryBytes, BinaryBytes>(
    "keyring.create",
    """
    insert into signing_keys (app_id, key_id, purpose, algorithm, public_key, private_key)
    values ($1, $2, 'access', 'ES256', $3, $4)
    on conflict do nothing returning key_id
    """
  )

  package static let all: [any PreparedStatement] = [load, create]
}
