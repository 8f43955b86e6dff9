import Runtime
import Testing

@testable import Administration

/// Tests which addresses a user may have meant, and the commands that are shown.
@Suite struct SignInCheckTests {
  @Test(arguments: [
    ("ada.lovelace@example.com", "adalovelace@example.com"),
    ("ada@example.com", "ada+news@example.com"),
    ("ada@example.com", "ada@exmaple.com"),
    ("ada@example.com", "ada@example.co"),
    ("ada@example.com", "adda@example.com"),
    ("ada@example.com", "dda@example.com"),
    ("erin@example.com", "erin@example.org"),
    ("erin@example.com", "erin@example.org.uk"),
    ("erin@example.com", "erin@elsewhere.test"),
    ("er.in+x@example.com", "erin@exmaple.com"),
  ])
  func `similar addresses are found in both directions`(one: String, other: String) {
    for (key, stored) in [(one, other), (other, one)] {
      let user = AddressOfUser(UserID(), stored, key: stored)
      #expect(SimilarAddresses.similar(to: key, among: [user, user]).map(\.email) == [stored])
    }
  }

  @Test(arguments: [
    ("ada@example.com", "ada@example.com"), ("ada@example.com", "adalbert@example.org"),
    ("ada@example.com", "eve@example.com"), ("ada@example.com", ""), ("", "ada@example.com"),
    ("@example.com", "@elsewhere.test"),
  ])
  func `other addresses, and the same one, are not`(one: String, other: String) {
    let user = AddressOfUser(UserID(), other, key: other)
    #expect(SimilarAddresses.similar(to: one, among: [user]).isEmpty)
  }

  @Test func `the most similar addresses come first, and they are few`() {
    let keys = ["bda@example.co", "ad.a@example.com"] + (0..<9).map { "ada\($0)@example.com" }
    let users = keys.map { AddressOfUser(UserID(), $0, key: $0) }
    let found = SimilarAddresses.similar(to: "ada@example.com", among: users).map(\.key)
    #expect(found.count == SimilarAddresses.most)
    #expect(found.prefix(2) == ["ad.a@example.com", "ada0@example.com"])
  }

  @Test func `related domains come first, and a common name at others says nothing`() {
    let related = ["erin@example.co", "erin@example.org"]
    func found(_ others: Int) -> [String] {
      let keys = (0..<others).map { "erin@domain\($0).test" } + related
      let users = keys.map { AddressOfUser(UserID(), $0, key: $0) }
      return SimilarAddresses.similar(to: "erin@example.com", among: users).map(\.key)
    }
    #expect(found(2) == related + ["erin@domain0.test", "erin@domain1.test"])
    #expect(found(SimilarAddresses.most + 1) == related)
    #expect(
      SimilarAddresses.prefixes(of: "erin@example.com") == ["erin@", "erin@exa", "eri"])
  }

  @Test(
    arguments: [
      ("", "", 0), ("ab", "ba", 1), ("abc", "acb", 1), ("abcd", "bacd", 1), ("abc", "abcde", 2),
      ("abcde", "abc", 2), ("abcdef", "abxdyf", 2), ("abc", "xyz", nil), ("abc", "abcdef", nil),
    ] as [(String, String, Int?)])
  func `the distance counts changes, and exchanged neighbors once`(
    one: String, other: String, distance: Int?
  ) {
    #expect(SimilarAddresses.distance(Array(one.utf8), Array(other.utf8)) == distance)
  }

  @Test(arguments: [
    ("ada@example.com", "ada@example.com"), ("o'brien@x.de", #"'o'\''brien@x.de'"#),
    ("$(id)", "'$(id)'"), ("", "''"), ("a b", "'a b'"), ("ä", "'ä'"),
  ])
  func `words are quoted for a shell`(word: String, quoted: String) {
    #expect(CommandLineText.quoted(word) == quoted)
  }

  @Test func `an operand that looks like an option stays an operand`() {
    let line = CommandLineText("user", "explain").text(in: nil, "-x@example.com")
    #expect(line == "dossier user explain -- -x@example.com")
  }
}
