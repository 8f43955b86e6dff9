import EventLoop
import Notation
package import Postgres

/// What the database knows of the master keys: by which its secrets are sealed.
package enum MasterKeys {
  /// Looks whether everything that is sealed in the database can be opened, and what is sealed from
  /// now on by all others who have looked.
  ///
  /// The first program that works on a database leaves the check value of its master key there. One
  /// that brings a new key in front of those that are known adds its own.
  /// - Returns: nil, or why nothing must be written with this master key.
  /// - Throws: what the database says.
  @EventLoop package static func fault(
    of master: MasterKey,
    in database: Database
  ) async throws(DatabaseError) -> String? {
    let known = try await database.read(MasterKeysQueries.list)
    let own = master.checks
    if let foreign = known.first(where: { !own.contains($0.check) }) {
      return """
        the secrets in the database are sealed with the master key \(name(foreign.check)), in use \
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

  /// Why keys that were sealed before the database knew by what were not sealed by this master key.
  @EventLoop private static func sealedBefore(
    _ master: MasterKey,
    _ database: Database
  ) async throws(DatabaseError) -> String? {
    for key in try await database.read(MasterKeysQueries.sealedKeys)
    where (try? master.opened(key.sealed, as: key.name)) == nil {
      return "the signing key \(key.name) in the database was sealed with another master key"
    }
    return nil
  }

  /// By what people tell keys apart: the first digits of a check value.
  static func name(_ check: [UInt8]) -> String { String(hexadecimal: check.prefix(4)) }
}

struct KnownMasterKey: RowDecodable {
  let check: [UInt8]
  let since: String

  init(from row: Row) throws(DatabaseError) {
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
    """
  )

  static let add = Statement<NoRow, BinaryBytes>(
    "master_keys.add",
    "insert into master_keys (check_value) values ($1) on conflict do nothing"
  )

  /// A few are enough: all were sealed by one.
  static let sealedKeys = Statement<SealedSecret>(
    "master_keys.sealed_keys",
    "select app_id || ' ' || key_id, private_key from signing_keys order by created_at desc limit 8"
  )

  package static let all: [any PreparedStatement] = [list, add, sealedKeys]
}
