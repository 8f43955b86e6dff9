package import EventLoop
import FoundationEssentials
internal import Crypto
internal import JWTKit
package import Postgres

/// The keys that sign and verify the access tokens of an app.
///
/// The first worker that finds none makes one; all that start together agree on it, because the
/// database takes one current key only.
@EventLoop package final class Keyring {
  let master: MasterKey
  private let database: Database
  private var signers: [AppID: Signer] = [:]
  private var verifiers: [String: any JWTAlgorithm] = [:]
  private var lastLoad: [AppID: UInt64] = [:]
  private var loads: [AppID: Task<Result<Void, Failure>, Never>] = [:]
  /// A token with an unknown key makes us look for new keys, not more often than this.
  private static let loadInterval: UInt64 = 5_000_000_000

  struct Signer {
    let keyID: String
    let algorithm: any JWTAlgorithm
  }

  package init(master: MasterKey, database: Database) {
    self.master = master
    self.database = database
  }

  /// The key that signs now.
  func signer(for app: AppID) async throws(Failure) -> Signer {
    if let signer = signers[app] { return signer }
    try await load(app)
    if signers[app] == nil {
      try await create(for: app)
      try await load(app)
    }
    guard let signer = signers[app] else { throw .unforeseen("no signing key for app \(app)") }
    return signer
  }

  /// The key of a token that claims to be of `app`; nil when the app has no such key.
  func verifier(keyID: String, app: AppID) async throws(Failure) -> (any JWTAlgorithm)? {
    if let verifier = verifiers["\(app) \(keyID)"] { return verifier }
    if let last = lastLoad[app], EventLoop.now() - last < Self.loadInterval { return nil }
    try await load(app)
    return verifiers["\(app) \(keyID)"]
  }

  /// Loads the keys of an app; callers that come meanwhile wait for the same load.
  private func load(_ app: AppID) async throws(Failure) {
    let task =
      loads[app]
      ?? EventLoop.task { [self] in
        do throws(Failure) {
          try await fetch(app)
          return Result<Void, Failure>.success(())
        } catch {
          return .failure(error)
        }
      }
    loads[app] = task
    let outcome = await task.value
    loads[app] = nil
    lastLoad[app] = EventLoop.now()
    try outcome.get()
  }

  private func fetch(_ app: AppID) async throws(Failure) {
    let rows: [SigningKeyRow]
    do throws(DatabaseError) {
      rows = try await database.read(KeyringQueries.load, app)
    } catch {
      throw Failure(error)
    }
    for row in rows {
      do {
        let secret = try master.opened(row.sealed, as: "\(app) \(row.keyID)")
        let collection = JWTKeyCollection()
        let kid = JWKIdentifier(string: row.keyID)
        await collection.add(
          ecdsa: try ES256PrivateKey(
            backing: P256.Signing.PrivateKey(rawRepresentation: secret)
          ),
          kid: kid
        )
        // Asked of the collection's actor once; from here on signing and verifying are plain calls.
        let algorithm = try await collection.getKey(for: kid)
        verifiers["\(app) \(row.keyID)"] = algorithm
        if row.isCurrent { signers[app] = Signer(keyID: row.keyID, algorithm: algorithm) }
      } catch {
        throw .unforeseen("signing key \(row.keyID) cannot be opened with this master key")
      }
    }
  }

  private func create(for app: AppID) async throws(Failure) {
    let key = P256.Signing.PrivateKey()
    let keyID = SessionID().text
    let sealed: [UInt8]
    do {
      sealed = try master.sealed(Array(key.rawRepresentation), as: "\(app) \(keyID)")
    } catch {
      throw .unforeseen("a signing key cannot be sealed")
    }
    do throws(DatabaseError) {
      _ = try await database.write(
        KeyringQueries.create,
        app,
        keyID,
        BinaryBytes(Array(key.publicKey.x963Representation)),
        BinaryBytes(sealed)
      )
    } catch {
      throw Failure(error)
    }
  }
}

private struct SigningKeyRow: RowDecodable {
  let keyID: String
  let sealed: [UInt8]
  let isCurrent: Bool

  init(from row: Row) throws(DatabaseError) {
    keyID = try row.text(0)
    sealed = try row.binary(1)
    isCurrent = try row.bool(2)
  }
}

package enum KeyringQueries {
  /// Served by the primary key.
  fileprivate static let load = Statement<SigningKeyRow, AppID>(
    "keyring.load",
    """
    select key_id, private_key, retires_at is null from signing_keys
    where app_id = $1 and purpose = 'access' and (retires_at is null or retires_at > now())
    """
  )

  /// Does nothing when another worker was first.
  fileprivate static let create = Statement<NoRow, AppID, String, BinaryBytes, BinaryBytes>(
    "keyring.create",
    """
    insert into signing_keys (app_id, key_id, purpose, algorithm, public_key, private_key)
    values ($1, $2, 'access', 'ES256', $3, $4)
    on conflict do nothing
    """
  )

  package static let all: [any PreparedStatement] = [load, create]
}
