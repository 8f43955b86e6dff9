import Encoding
import FoundationEssentials
import JSON
import Testing

@testable import Runtime
@testable import Tenancy

@Suite struct MasterKeyTests {
  private let old = [UInt8](repeating: 1, count: 32)
  private let new = [UInt8](repeating: 2, count: 32)

  @Test func `the first key encrypts, and all keys decrypt`() throws {
    let both = MasterKey([new, old])
    let sealed = try MasterKey(old).sealed([5], as: "x")
    #expect(both.opened(sealed, as: "x") == [5])
    let next = try both.sealed([6], as: "x")
    #expect(MasterKey(new).opened(next, as: "x") == [6])
    #expect(MasterKey(new).opened(sealed, as: "x") == nil)
    #expect(both.opened(sealed, as: "y") == nil)
  }

  @Test func `a text is read back under its name, until it expires`() throws {
    let master = MasterKey(old)
    let text = try master.sealedText(JSONObject([("a", 1)]), as: "x", for: .seconds(60))
    let read = try #require(master.openedText(text, as: "x"))
    #expect(read.json["a"] == 1 && !read.hasExpired)
    #expect(master.openedText(text, as: "y") == nil && master.openedText("?", as: "x") == nil)
    let late = try master.sealedText(JSONObject([("a", 1)]), as: "x", for: .zero)
    #expect(master.openedText(late, as: "x")?.hasExpired == true)
  }

  @Test func `the key that issued a credential verifies it, with the original hash`() throws {
    let issued = Credential(.apiKey, of: UserID())
    let text = issued.text(MasterKey(old))
    let both = MasterKey([new, old])
    let read = try #require(Credential(.apiKey, text, both))
    #expect(read.hash(both) == issued.hash(MasterKey(old)))
    #expect(Credential(.apiKey, text, MasterKey(new)) == nil)
    #expect(Credential(.apiKey, issued.text(both), MasterKey(new)) != nil)
  }

  @Test func `a given secret is valid after a change of the master key`() throws {
    let (client, text) = (ClientID(), String(repeating: "s", count: 32))
    let stored = try #require(GivenSecret.text(text).hash(of: client, MasterKey(old)))
    #expect(GivenSecret.hashes(of: text, of: client, MasterKey([new, old])).contains(stored))
    #expect(!GivenSecret.hashes(of: text, of: ClientID(), MasterKey(old)).contains(stored))
    #expect(!GivenSecret.hashes(of: text, of: client, MasterKey(new)).contains(stored))
  }

  /// RFC 4231, sections 4.2, 4.3 and 4.5.
  @Test(arguments: [
    (
      [UInt8](repeating: 0x0b, count: 20), Array("Hi There".utf8),
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), Array("what do ya want for nothing?".utf8),
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    (
      Array(1...25), [UInt8](repeating: 0xcd, count: 50),
      "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
    ),
  ])
  func `a keyed hash is HMAC-SHA256, each time`(key: [UInt8], bytes: [UInt8], code: String) {
    let hash = KeyedHash(key)
    #expect(String(hexadecimal: hash.code(of: bytes)) == code)
    #expect(String(hexadecimal: hash.code(of: bytes)) == code)
  }

  @Test func `check values differ by key, and never equal it`() {
    let both = MasterKey([new, old])
    #expect(Set(both.checks).count == 2)
    #expect(!both.checks.contains(new))
    #expect(both.checks == MasterKey(new).checks + MasterKey(old).checks)
  }

  @Test func `the program knows the newest migration`() throws {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let files = try FileManager.default.contentsOfDirectory(atPath: "\(root)/migrations")
    #expect(files.compactMap { Int($0.prefix(4)) }.max() == ReadinessCheck.schemaVersion)
  }
}
