package import Runtime
package import JSON
import Encoding

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
