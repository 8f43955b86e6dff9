import JSON
import Notation

/// The settings that all hosts share, as far as one host may tell another: each as a keyed hash.
package struct SettingsFingerprint: Sendable, Equatable {
  /// The name of the master key that made the hashes.
  let masterKey: String
  private let hashes: [String: String]

  /// - Parameters:
  ///   - settings: the values by their names.
  ///   - master: also one of the settings; the order of its keys counts.
  package init(_ settings: [String: String], _ master: MasterKey) {
    var settings = settings
    settings["master_key"] = master.checks.map { String(hexadecimal: $0) }.joined(separator: " ")
    masterKey = MasterKeys.name(master.checks[0])
    hashes = settings.reduce(into: [:]) { hashes, setting in
      let hash = master.settingHash(of: setting.value, named: setting.key)
      hashes[setting.key] = String(hexadecimal: hash.prefix(8))
    }
  }

  init(masterKey: String, json: JSON) {
    self.masterKey = masterKey
    hashes = (json.object ?? JSONObject()).reduce(into: [:]) { hashes, member in
      hashes[member.key] = member.value.string
    }
  }

  var json: JSON {
    var object = JSONObject()
    for (name, hash) in hashes.sorted(by: { $0.key < $1.key }) { object[name] = .string(hash) }
    return .object(object)
  }

  /// Returns the names of the settings that differ, sorted.
  ///
  /// Hashes by different keys always differ: then only the master key is named. A setting that one of
  /// two versions of the program does not know is not compared.
  package func differences(from other: SettingsFingerprint) -> [String] {
    guard masterKey.hasSameBytes(as: other.masterKey) else { return ["master_key"] }
    return hashes.compactMap { name, hash in
      other.hashes[name].flatMap { $0 == hash ? nil : name }
    }.sorted()
  }
}
