import JSON
import Testing

@testable import Runtime
@testable import Tenancy

/// Tests the comparison of the settings of two hosts.
@Suite struct SettingsFingerprintTests {
  private let key = MasterKey([UInt8](repeating: 1, count: 32))
  private let settings = ["issuer": "https://a.example", "mail_password": "secret"]

  @Test func `a comparison reveals only the names of different settings`() throws {
    let own = SettingsFingerprint(settings, key)
    let read = SettingsFingerprint(
      masterKey: own.masterKey, json: try JSON.parse(own.json.serialized(), limits: .stored)
    )
    #expect(own.differences(from: read).isEmpty)
    var other = settings
    other["mail_password"] = "other"
    #expect(own.differences(from: SettingsFingerprint(other, key)) == ["mail_password"])
    // A setting that only one version has is not compared.
    other["new"] = "1"
    #expect(SettingsFingerprint(other, key).differences(from: own) == ["mail_password"])
    let text = String(decoding: own.json.serialized(), as: UTF8.self)
    #expect(!text.contains("secret") && !text.contains("a.example"))
  }

  @Test func `the same value of two settings has two hashes`() {
    let own = SettingsFingerprint(["a": "x", "b": "x"], key)
    #expect(own.json["a"] != own.json["b"])
  }

  @Test func `if a host lacks a master key, only the master key is reported`() {
    let new = [UInt8](repeating: 2, count: 32)
    let old = [UInt8](repeating: 1, count: 32)
    let own = SettingsFingerprint(settings, key)
    #expect(own.differences(from: SettingsFingerprint([:], MasterKey(new))) == ["master_key"])
    let both = SettingsFingerprint(settings, MasterKey([old, new]))
    #expect(own.differences(from: both) == ["master_key"])
  }
}
