import HTTP
import Testing

@Suite struct AcceptedLanguagesTests {
  @Test(arguments: [
    ("de-AT, de;q=0.9, en;q=0.8", ["de-AT", "de", "en"]),
    ("en;q=0.2, de;q=0.25 , fr", ["fr", "de", "en"]),
    ("a, b, c;q=1.000, d", ["a", "b", "c", "d"]),
    ("de;q=0, *, en;q=0.001", ["en"]),
    ("de;q=2, en;q=0.1234, fr;q=x, es;v=1, it;q=1", ["it"]),
    ("DE_at", ["DE-at"]), ("", []), (" ,;,=", []),
  ])
  func `tags are sorted by weight, and malformed ones ignored`(field: String, tags: [String]) {
    #expect(AcceptedLanguages(field).tags == tags)
  }

  @Test func `a long field is read in part`() {
    #expect(AcceptedLanguages(String(repeating: "de,", count: 1_000_000)).tags.count == 342)
  }
}
