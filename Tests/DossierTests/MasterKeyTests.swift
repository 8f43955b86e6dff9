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
