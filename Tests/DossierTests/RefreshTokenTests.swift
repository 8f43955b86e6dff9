import Testing

@testable import Dossier

@Suite struct RefreshTokenTests {
  private let key = MasterKey([UInt8](repeating: 7, count: 32))
  private let token = RefreshToken(user: UserID(), session: SessionID())

  @Test func `a token reads back as it was issued`() throws {
    let read = try #require(RefreshToken(token.text(key), key))
    #expect(read.user == token.user)
    #expect(read.session == token.session)
    #expect(read.generation == 1)
    #expect(read.hash(key) == token.hash(key))
  }

  @Test func `the successor is the same each time and of the next generation`() throws {
    let read = try #require(RefreshToken(token.successor(key).text(key), key))
    #expect(read.generation == 2)
    #expect(read.hash(key) == token.successor(key).hash(key))
    #expect(read.hash(key) != token.hash(key))
  }

  @Test func `a token with any character changed, or of another master key, is refused`() {
    let text = token.text(key)
    for index in text.indices {
      let changed = text.replacingCharacter(at: index)
      #expect(RefreshToken(changed, key) == nil, "\(changed)")
    }
    #expect(RefreshToken(text, MasterKey([UInt8](repeating: 8, count: 32))) == nil)
    #expect(RefreshToken(text + "A", key) == nil)
    #expect(RefreshToken("", key) == nil)
  }
}

extension String {
  fileprivate func replacingCharacter(at index: Index) -> String {
    var text = self
    text.replaceSubrange(index...index, with: self[index] == "x" ? "y" : "x")
    return text
  }
}
