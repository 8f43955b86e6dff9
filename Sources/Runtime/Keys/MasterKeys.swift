import EventLoop
import Encoding
package import Postgres

/// The check values of the master keys that sealed secrets in the database.
package enum MasterKeys {
  /// Checks that this process can decrypt every secret in the database.
  ///
  /// It also checks that other running programs can decrypt what this one seals. The first program
  /// on a database stores the check value of its master key there. A program with a new key in
  /// front of the known ones adds that key's value.
  /// - Returns: why this master key must not be used; nil if it may.
  /// - Throws: the error of the database.
  @EventLoop package static func fault(
    of master: MasterKey, in database: Database
  ) async throws(DatabaseError) -> String? {
    let known = try await database.read(MasterKeysQueries.list)
    let own = master.checks
    if let foreign = known.first(where: { !own.contains($0.check) }) {
      return """
        the secrets in the database are encrypted with the master key \(name(foreign.check)), in use \
        since \(foreign.since), and this program has \
        \(own.map(name).joined(separator: ", ")) only
        """
    }
    if known.isEmpty, let reason = try await sealedBefore(master, database) { return reason }
    if !known.contains(where: { $0.check == own[0] }) {
      _ = try await database.write(MasterKeysQueries.add, BinaryBytes(own[0]))
    }
    return nil
  }

  /// Returns a fault if this master key did not seal keys from before check values were stored.
  @EventLoop private static func sealedBefore(
    _ master: MasterKey, _ database: Database
  ) async throws(DatabaseError) -> String? {
    for key in try await database.read(MasterKeysQueries.sealedKeys)
    where master.opened(key.sealed, as: key.name) == nil {
      return "this master key does not decrypt the signing key \(key.name) in the database"
    }
    return nil
  }

  /// Returns the name of a master key in messages: the first digits of its check value.
  package static func name(_ check: [UInt8]) -> String { String(hexadecimal: check.prefix(4)) }
}

package struct KnownMasterKey: RowDecodable {
  let check: [UInt8]
  let since: String

  package init(from row: Row) throws(DatabaseError) {
    check = try row.binary(0)
    since = try row.text(1)
  }
}

/// A secret in the database, and the name that it is bound to.
struct SealedSecret: RowDecodable {
  let name: String
  let sealed: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    sealed = try row.binary(1)
  }
}

package enum MasterKeysQueries {
  static let list = Statement<KnownMasterKey>(
    "master_keys.list",
    """
    select check_value, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')
    from master_keys order by created_at
    """)

  static let add = Statement<NoRow, BinaryBytes>(
    "master_keys.add", "insert into master_keys (check_value) values ($1) on conflict do nothing"
  )

  /// Returns a few keys, which is enough: one master key sealed them all.
  static let sealedKeys = Statement<SealedSecret>(
    "master_keys.sealed_keys",
    "select app_id || ' ' || key_id, private_key from signing_keys order by created_at desc limit 8"
  )

  package static let all: [any PreparedStatement] = [list, add, sealedKeys]
}
