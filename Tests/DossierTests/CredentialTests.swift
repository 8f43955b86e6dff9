import Testing

@testable import Runtime

@Suite struct CredentialTests {
  private let key = MasterKey([UInt8](repeating: 7, count: 32))
  private let user = UserID()
  private let session = SessionID()

  private var token: Credential {
    let salt = [UInt8](0..<16)
    return Credential(.refreshToken, of: user, part: session, number: 70_000, salt: salt)
  }

  @Test func `an issued credential is parsed back`() throws {
    let read = try #require(Credential(.refreshToken, token.text(key), key))
    #expect(read.owner(as: UserID.self) == user)
    #expect(read.part(as: SessionID.self) == session)
    #expect(read.number == 70_000)
    #expect(read.salt == [UInt8](0..<16))
    #expect(read.hash(key) == token.hash(key))
    #expect(read.text(key) == token.text(key))
  }

  @Test func `a credential with any character changed, or of another master key, is refused`() {
    let text = token.text(key)
    for index in text.indices {
      let changed = text.replacingCharacter(at: index)
      #expect(Credential(.refreshToken, changed, key) == nil, "\(changed)")
    }
    let other = MasterKey([UInt8](repeating: 8, count: 32))
    #expect(Credential(.refreshToken, text, other) == nil)
    #expect(Credential(.refreshToken, text + "A", key) == nil)
    #expect(Credential(.refreshToken, "", key) == nil)
  }

  @Test func `a credential of another kind is refused, even with a changed prefix`() {
    let text = token.text(key)
    #expect(Credential(.device, text, key) == nil)
    #expect(Credential(.device, "ds_device_" + text.dropFirst(11), key) == nil)
  }

  @Test func `a client secret has 64 characters, and every one counts`() throws {
    let owner = ID<Credential>()
    let secret = Credential(.clientSecret, of: owner)
    let text = secret.text(key)
    #expect(text.utf8.count == 64 && text.hasPrefix("ds_client_"))
    let read = try #require(Credential(.clientSecret, text, key))
    #expect(read.owner() == owner)
    #expect(read.hash(key) == secret.hash(key) && read.text(key) == text)
    #expect(read.number == 0 && read.salt.count == 12)
    for index in text.indices {
      let changed = text.replacingCharacter(at: index)
      #expect(Credential(.clientSecret, changed, key) == nil, "\(changed)")
    }
    #expect(Credential(.clientSecret, of: owner).text(key) != text)
    // Credentials of other kinds are longer, and have a part.
    #expect(Credential(.clientSecret, "ds_client_" + token.text(key).dropFirst(11), key) == nil)
    #expect(Credential(.apiKey, "ds_apikey_" + text.dropFirst(10), key) == nil)
  }

  @Test func `addresses of one subscriber have one network`() {
    let first = ClientAddress("2001:db8:1:2::1").network
    #expect(ClientAddress("2001:db8:1:2:ffff::").network == first)
    #expect(ClientAddress("2001:db8:1:3::1").network != first)
    #expect(ClientAddress("::ffff:192.0.2.1").network == ClientAddress("192.0.2.1").network)
    #expect(ClientAddress("::ffff:192.0.2.1").text == "192.0.2.1")
    #expect(
      ["127.0.0.1", "::1", "::ffff:127.0.0.1", "unix:"].allSatisfy { ClientAddress($0).isLocal }
    )
    #expect(["192.0.2.1", "::ffff:192.0.2.1", "", nil].allSatisfy { !ClientAddress($0).isLocal })
    #expect(ClientAddress("unix:").text == nil)
  }
}

extension String {
  fileprivate func replacingCharacter(at index: Index) -> String {
    var text = self
    text.replaceSubrange(index...index, with: self[index] == "x" ? "y" : "x")
    return text
  }
}
