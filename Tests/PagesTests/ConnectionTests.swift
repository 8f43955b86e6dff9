import TestSupport
import Testing

@testable import Localization
@testable import Pages

/// The buttons of other issuers, and the pages after a sign-in there.
@Suite struct ConnectionTests {
  private func document(_ name: String, _ catalog: Catalog = .english) throws -> HTMLDocument {
    let page = try #require(Fixtures().pages.first { $0.name == name }).page
    return try HTMLDocument(Fixtures.html(page, catalog))
  }

  private func buttons(_ document: HTMLDocument) -> [HTMLDocument.Element] {
    document.all("a").filter { $0["href"]?.hasPrefix("/u/t/0123/connect/") == true }
  }

  @Test(arguments: ConnectionMark.allCases)
  func `each preset has its mark, which loads and names nothing`(_ mark: ConnectionMark) throws {
    #expect(ConnectionMark(preset: mark.rawValue) == mark)
    #expect((mark.markup == nil) == (mark == .other))
    let html = mark.markup?.html ?? ""
    for name in [" id=", " href=", " style=", "url(", "script", "<title"] {
      #expect(!html.contains(name), "\(name)")
    }
    #expect(mark == .other || html.contains(#"aria-hidden="true""#))
  }

  @Test(arguments: ["oidc", "oauth2", "", "Google", "__proto__"])
  func `another preset shows the initial of its label`(preset: String) throws {
    #expect(ConnectionMark(preset: preset) == .other)
    let button = ConnectionButton(
      "\u{202e}émile", mark: ConnectionMark(preset: preset),
      to: Fixtures.link("/u/t/0123/connect/e")
    )
    let page = Page.signIn(nil, connections: [button])
    let document = try HTMLDocument(Fixtures.html(page))
    #expect(document.elements.first { $0["class"] == "brand" }?.text == "É")
    #expect(buttons(document).map(\.text) == ["ÉContinue with émile"])
  }

  @Test func `the buttons stand below the form, in their order, as links`() throws {
    let document = try document("sign-in-connections")
    let found = buttons(document)
    #expect(found.map { $0["class"] } == ["google", "apple", "other"])
    #expect(
      found.map(\.text) == [
        "Continue with Google Last used", "Continue with Apple",
        "CContinue with Contoso Industries",
      ])
    let order = document.elements.compactMap { element in
      ["email", "or", "connections"].first { element["id"] == $0 || element["class"] == $0 }
    }
    #expect(order == ["email", "or", "connections"])
  }

  @Test(arguments: [
    ("de", "Weiter mit Google Zuletzt verwendet"), ("ja", "Googleで続ける 前回使用"),
    ("ar", "المتابعة باستخدام Google آخر استخدام"),
  ])
  func `the words of a button are in the language of the page`(language: String, words: String)
    throws
  {
    let document = try document("sign-in-connections", .shipped(language))
    #expect(buttons(document).first?.text == words)
  }

  @Test func `a page without a form has no divider and no field`() throws {
    for name in ["sign-in-only-connections", "confirm-identity-only-connections"] {
      let document = try document(name)
      #expect(!buttons(document).isEmpty)
      #expect(document.elements.allSatisfy { $0["class"] != "or" }, "\(name)")
      #expect(document.all("input").allSatisfy { $0["type"] == "hidden" }, "\(name)")
    }
  }

  @Test(arguments: [0, 1, 6, 7, 20])
  func `a page shows at most six buttons, and unfolds the others`(count: Int) throws {
    let all = (0..<count).map { Fixtures().button("I\($0)", .other) }
    let document = try HTMLDocument(
      Fixtures.html(.signIn(Fixtures().target(), connections: all))
    )
    let found = buttons(document)
    #expect(found.count == count)
    let folded = found.count { $0.ancestors.contains("details") }
    #expect(folded == (count > 6 ? count - 5 : 0))
    #expect(document.all("summary").map(\.text) == (count > 6 ? ["More ways to sign in"] : []))
    #expect(document.all("details").allSatisfy { $0["open"] == nil })
    #expect(document.elements.count { $0["class"] == "or" } == (count > 0 ? 1 : 0))
  }

  @Test func `the button that was used last is never folded`() throws {
    let details = try document("sign-in-connections-unfolded").all("details")
    #expect(details.map { $0["open"] } == [""])
  }

  @Test func `no title has the name of an issuer`() throws {
    let pages = Fixtures(hostile: "Contoso").pages
    for (name, page) in pages {
      let title = try HTMLDocument(Fixtures.html(page)).all("title").first?.text
      #expect(title?.contains("Contoso") == false, "\(name)")
    }
  }

  @Test func `a sign-in that failed can begin again, or in another way`() throws {
    let failed = try document("connection-failed")
    #expect(failed.all("h1").map(\.text) == ["Sign-in with Google didn't work"])
    #expect(failed.all("p").contains { $0.text == "Request ID: 5f2b6c1e9a7d" })
    let links = failed.all("a").filter { $0.ancestors.contains("main") }
    #expect(links.map(\.text) == ["Try again", "Sign in another way"])
    #expect(links.map { $0["class"] } == ["primary", nil])
    let away = try document("connection-unavailable")
    #expect(away.all("p").contains { $0.text == "Try again in 30 seconds." })
    #expect(away.all("a").contains { $0.text == "Sign in another way" && $0["class"] == "primary" })
  }

  @Test(arguments: Page.ConnectionRefusal.allCases)
  func `a refused account is named, and another one can be used`(
    _ refusal: Page.ConnectionRefusal
  ) throws {
    let document = try document("connection-refused-\(refusal)")
    let lines = document.elements.first { $0["class"] == "lines" }
    #expect(lines?.text == "Ada Lovelaceada@contoso.example")
    let links = document.all("a").filter { $0.ancestors.contains("main") }
    #expect(links.first?["class"] == "primary")
    #expect(
      links.map(\.text)
        == (refusal == .signUpClosed ? [] : ["Use another account"]) + ["Sign in another way"]
    )
  }

  @Test func `the owner of a taken address signs in, and learns what is linked`() throws {
    let taken = try document("account-exists")
    #expect(taken.elements.first { $0["class"] == "lines" }?.text == "ada@example.com")
    #expect(taken.all("a").contains { $0.text == "Sign in and link" && $0["class"] == "primary" })
    let password = try document("password-linking")
    let notice = password.elements.first { $0["class"] == "notice information" }
    #expect(notice?.text == "After you sign in, we'll link your Google account.")
  }

  @Test func `linked accounts have their mark, their name there and their dates`() throws {
    let document = try document("identities-link")
    let values = document.elements.filter { $0["class"] == "value" }.map(\.text)
    #expect(
      values == [
        "ada@contoso.example", "Linked on 2 March 2026", "Last used on 2 March 2026",
        "Ada Lovelace", "Linked on 2 March 2026",
      ])
    let marks = document.elements.filter { $0["class"] == "brand" }
    #expect(marks.count == 2 + Fixtures().connections.count)
    let links = buttons(document)
    #expect(links.allSatisfy { $0.text == "Link" && $0["aria-labelledby"] != nil })
    #expect(document.all("button").map(\.text) == ["Unlink"])
  }

  @Test func `a page shows at which issuer a user has signed in`() throws {
    let document = try document("confirm-application-issuer")
    let lines = document.elements.first { $0["class"] == "lines" }
    #expect(lines?.text == "Ada Lovelaceada@example.comSigned in with Google")
    let signedOut = try self.document("signed-out-issuer")
    let notice = signedOut.elements.first { $0["class"] == "notice information" }
    #expect(notice?.text.hasPrefix("This browser may still be signed in to Google.") == true)
  }

  @Test func `a user without name and address can link accounts and set an address`() throws {
    let document = try document("account-nameless")
    #expect(document.elements.first { $0["class"] == "lines" }?.text == "Account without a name")
    #expect(document.all("dt").map(\.text).contains("Linked accounts"))
    #expect(document.elements.allSatisfy { $0["class"]?.hasPrefix("badge") != true })
    #expect(try self.document("address-first").all("h1").map(\.text) == ["Add an email address"])
  }
}
