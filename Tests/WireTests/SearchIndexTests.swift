import Pages
import Testing

@testable import Reference

@Suite struct SearchIndexTests {
  private static let index = SearchIndex(
    [
      Page(
        slug: "signing-in",
        title: "Signing in",
        summary: "These routes need no token.",
        sections: [
          Section(
            id: "register", title: "Register an address", tag: "API client",
            detail: "POST /v1/register", isRoute: true, words: "sign up email_taken",
            content: #"<p title="hidden">Sends a <code>Zürich</code> mail.</p>"#
          ),
          Section(
            id: "login", title: "Sign in", detail: "POST /v1/login", isRoute: true,
            items: [Item(id: "set", title: "$set", detail: "Sets a value.", content: "mail")]
          ),
        ]
      )
    ],
    .users
  )

  private func titles(_ query: String) -> [String] {
    Self.index.places(matching: query).map(\.title)
  }

  @Test func `each search word matches a prefix in the place, and titles come first`() {
    #expect(titles("sign") == ["Signing in", "Sign in", "Register an address"])
    #expect(titles("SIGN  up!") == ["Register an address"])
    #expect(titles("email_taken") == ["Register an address"])
    #expect(titles("up sign") == titles("sign up"))
    #expect(titles("$se") == ["$set"])
    #expect(titles("ign") == [])
    #expect(titles("sign zebra") == titles("sign"))
    #expect(titles("zebra lion") == [])
  }

  @Test func `fillers and plurals count only while a place has them, and then most words suffice`()
  {
    #expect(titles("how do I registers the address") == ["Register an address"])
    #expect(titles("the") == ["Signing in"])
    #expect(titles("of the") == [])
    #expect(titles("zebra sign up here") == ["Register an address"])
    #expect(titles("what zebra and register mean") == ["Register an address"])
  }

  @Test func `text is searched if nothing else matches, and never tags or attributes`() {
    #expect(titles("mail") == ["Register an address", "$set"])
    #expect(titles("zürich") == ["Register an address"])
    #expect(titles("sign mail") == ["Register an address"])
    #expect(titles("hidden") == [])
    #expect(titles("code") == [])
  }

  @Test func `a search without words finds nothing, and words over the limit are ignored`() {
    for query in ["", " ", "!?<>\"'&"] { #expect(titles(query) == []) }
    let words = ["r", "re", "reg", "regi", "regis", "regist", "registe", "register", "a", "ad"]
    #expect(words.count == SearchIndex.wordLimit)
    let query = words.joined(separator: " ")
    #expect(titles(query + " zebra") == ["Register an address"])
  }

  @Test func `a URL has the audience and the place`() throws {
    let place = try #require(Self.index.places(matching: "register").first)
    #expect(place.address == "/reference/signing-in?for=users#register")
    #expect(place.tag == "API client" && place.chapter == "Signing in")
  }
}
