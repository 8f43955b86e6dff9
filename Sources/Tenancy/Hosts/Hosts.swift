import Encoding
import EventLoop
package import JSON
package import Postgres
package import Runtime

/// A host that serves from the database.
package struct HostRecord: RowDecodable {
  package let name: String
  /// The version of the program.
  package let version: String
  package let fingerprint: SettingsFingerprint

  package init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    version = try row.text(1)
    fingerprint = SettingsFingerprint(masterKey: try row.text(2), json: try row.json(3))
  }
}

/// The hosts that serve from one database; they should have the same settings.
package enum Hosts {
  /// Stores that a host is serving, with its program version and its settings.
  ///
  /// - Throws: the error of the database.
  @EventLoop package static func record(
    _ name: String, version: String, _ fingerprint: SettingsFingerprint, in database: Database
  ) async throws(DatabaseError) {
    let settings = TextBytes(fingerprint.json.serialized())
    _ = try await database.write(HostQueries.record, name, version, fingerprint.masterKey, settings)
  }

  /// Returns the hosts that have served within the last hour, by name.
  ///
  /// - Throws: the error of the database.
  @EventLoop package static func list(
    in database: Database
  ) async throws(DatabaseError) -> [HostRecord] {
    try await database.read(HostQueries.list)
  }
}

package enum HostQueries {
  /// Served by the primary key.
  static let record = Statement<NoRow, String, String, String, TextBytes>(
    "hosts.record",
    """
    insert into hosts (name, version, master_key, settings, seen_at)
    values ($1, $2, $3, $4::jsonb, now())
    on conflict (name) do update set version = excluded.version,
      master_key = excluded.master_key, settings = excluded.settings, seen_at = excluded.seen_at
    """)

  /// Reads the whole table, which has a row for each host.
  static let list = Statement<HostRecord>(
    "hosts.list",
    """
    select name, version, master_key, settings::text from hosts
    where seen_at > now() - interval '1 hour' order by name
    """)
}

/// A keyed hash of each setting that all hosts share; hosts compare these instead of the values.
package struct SettingsFingerprint: Sendable, Equatable {
  /// The name of the master key that made the hashes.
  package let masterKey: String
  private let hashes: [String: String]

  /// - Parameters:
  ///   - settings: the values by their names.
  ///   - master: the master key, itself a shared setting; the order of its keys matters.
  package init(_ settings: [String: String], _ master: MasterKey) {
    var settings = settings
    settings["master_key"] = master.checks.map { String(hexadecimal: $0) }.joined(separator: " ")
    masterKey = MasterKeys.name(master.checks[0])
    hashes = settings.reduce(into: [:]) { hashes, setting in
      let hash = master.settingHash(of: setting.value, named: setting.key)
      hashes[setting.key] = String(hexadecimal: hash.prefix(8))
    }
  }

  package init(masterKey: String, json: JSON) {
    self.masterKey = masterKey
    hashes = (json.object ?? JSONObject()).reduce(into: [:]) { hashes, member in
      hashes[member.key] = member.value.string
    }
  }

  package var json: JSON {
    var object = JSONObject()
    for (name, hash) in hashes.sorted(by: { $0.key < $1.key }) { object[name] = .string(hash) }
    return .object(object)
  }

  /// Returns the sorted names of the settings that differ.
  ///
  /// Hashes by different master keys always differ, so only the master key is named then. A setting
  /// that only one program version has is not compared.
  package func differences(from other: SettingsFingerprint) -> [String] {
    guard masterKey.hasSameBytes(as: other.masterKey) else { return ["master_key"] }
    return hashes.compactMap { name, hash in
      other.hashes[name].flatMap { $0 == hash ? nil : name }
    }.sorted()
  }
}
