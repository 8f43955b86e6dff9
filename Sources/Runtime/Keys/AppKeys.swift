package import EventLoop
import Postgres

/// The cached keys of one app.
@EventLoop package final class AppKeys {
  package let app: AppID
  private let master: MasterKey
  private let database: Database
  private let clock: @EventLoop () -> UInt64
  private lazy var loader = CacheLoader(age: Self.age, clock: clock) {
    [unowned self] () async throws(Failure) in try await load()
  }
  private var signers: [KeyPurpose: SigningKey] = [:]
  private var verifiers: [String: SigningKey] = [:]
  private var creations: [KeyPurpose: SharedTask<Void, Failure>] = [:]
  /// The number of loads that removed keys; each makes cached verifications invalid.
  package private(set) var removals = 0

  /// Operators may retire or remove keys meanwhile.
  private static let age = Duration.seconds(20)

  init(
    _ app: AppID, _ master: MasterKey, _ database: Database,
    _ clock: @escaping @EventLoop () -> UInt64
  ) {
    (self.app, self.master, self.database, self.clock) = (app, master, database, clock)
  }

  /// Returns whether the cached keys may be used; starts a reload if they are old.
  package func isFresh() -> Bool { loader.isFresh() }

  /// Returns the current signing key; nil if one must be created.
  func signer(for purpose: KeyPurpose) async throws(Failure) -> SigningKey? {
    try await loader.find { signers[purpose] }
  }

  /// Returns a key by its id; nil if the app has no such key.
  ///
  /// A key that another worker has just created is found.
  func verifier(_ id: String) async throws(Failure) -> SigningKey? {
    try await loader.find { verifiers[id] }
  }

  /// Returns the shared task that creates a missing key, so that concurrent requests create only
  /// one.
  func creation(for purpose: KeyPurpose) -> SharedTask<Void, Failure> {
    let creation = creations[purpose] ?? SharedTask()
    creations[purpose] = creation
    return creation
  }

  /// Waits for a load that begins after the call.
  func reload() async throws(Failure) { try await loader.reload() }

  private func load() async throws(Failure) {
    let rows: [SigningKeyRow]
    do throws(DatabaseError) {
      rows = try await database.read(Self.load, app)
    } catch {
      throw Failure(error)
    }
    // Keys without a row have expired or were removed.
    var found: [String: SigningKey] = [:]
    var signers: [KeyPurpose: SigningKey] = [:]
    for row in rows {
      guard let purpose = row.purpose else { continue }
      let key = if let known = verifiers[row.keyID] { known } else { try opened(row, for: purpose) }
      found[row.keyID] = key
      if row.signs { signers[purpose] = key }
    }
    if verifiers.keys.contains(where: { found[$0] == nil }) { removals += 1 }
    (verifiers, self.signers) = (found, signers)
  }

  private func opened(_ row: SigningKeyRow, for purpose: KeyPurpose) throws(Failure) -> SigningKey {
    guard let secret = master.opened(row.sealed, as: "\(app) \(row.keyID)"),
      let key = try? SigningKey(id: row.keyID, for: purpose, secret: secret)
    else {
      throw .internalError(
        reason:
          "this master key does not decrypt the signing key \(row.keyID); "
          + "`dossier key delete` deletes it"
      )
    }
    return key
  }

  /// Served by the primary key.
  ///
  /// For each purpose, it marks the newest key that is at least 30 seconds old as the signing key.
  /// By then, no cache of the published key set lacks it (`PublicKey.age`). If all keys are younger, the oldest of them signs. If the current key was removed, no
  /// key signs: retired keys will soon stop verifying.
  nonisolated static let load = Statement<SigningKeyRow, AppID>(
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
    """)
}

struct SigningKeyRow: RowDecodable {
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

/// The purposes of an app's signing keys; each has the algorithm that its clients support.
package enum KeyPurpose: String, CaseIterable, Sendable, Bindable {
  /// Access tokens of native clients and of App Services clients.
  case native = "access"
  /// Access tokens and ID tokens of OpenID Connect.
  ///
  /// Their key set is separate, since its clients fail on a set with keys of other kinds.
  case openID = "openid"

  /// The algorithm name in the header of a token.
  ///
  /// - Source: RFC 7518 section 3.1.
  package var algorithm: String {
    switch self {
    case .native: "ES256"
    case .openID: "RS256"
    }
  }

  package func appendText(to bytes: inout [UInt8]) -> Bool { rawValue.appendText(to: &bytes) }
}
