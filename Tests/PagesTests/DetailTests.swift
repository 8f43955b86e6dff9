import Encoding
import TestSupport
import Testing

@testable import Localization
@testable import Pages

/// The details of single pages.
@Suite struct DetailTests {
  private func html(_ name: String) throws -> String {
    Fixtures.html(try #require(Fixtures().pages.first { $0.name == name }).page)
  }

  private func document(_ name: String) throws -> HTMLDocument { try HTMLDocument(html(name)) }

  @Test func `the option of a sign-in stands below its button`() throws {
    let document = try document("sign-in")
    let button = try #require(document.elements.firstIndex { $0["class"] == "primary" })
    let option = try #require(document.elements.firstIndex { $0["name"] == "remember" })
    #expect(button < option)
    #expect(document.elements[option].ancestors.contains("form"))
  }

  @Test func `other ways to sign in stand below a divider`() throws {
    let divider = try document("password").elements.filter { $0["class"] == "or" }
    #expect(divider.map(\.text) == ["or"])
    let other = try #require(try document("password").all("button").last)
    #expect(other.text == "Email me a code" && other["class"] == "secondary")
    #expect(try document("password-missing").elements.allSatisfy { $0["class"] != "or" })
  }

  @Test func `the page of a code has one sentence, and a button that waits`() throws {
    let document = try document("mail-code-signIn")
    let texts = document.all("p").filter { $0.ancestors.last == "main" }.map(\.text)
    #expect(texts == ["If an account exists for this address, we've sent a code."])
    let resend = try #require(document.all("button").last)
    #expect(resend.text == "Send a new code" && resend["data-wait"] == "30")
    // After an error, the user has looked for the email.
    #expect(try self.document("mail-code-error-1").all("button").last?["data-wait"] == nil)
  }

  @Test(arguments: [(4, "4 tries left."), (1, "1 try left.")])
  func `a wrong code names the tries that are left`(left: Int, words: String) {
    let error = FormError(.mailCodeWrong, left)
    #expect(FormError(error.text) == error)
    let view = PageView(catalog: .english, app: "Northwind")
    let sentences = "This code is wrong. Check the code or request a new one."
    #expect(view.plain(error.pageError().text) == "\(sentences) \(words)")
    #expect(view.plain(FormError(.mailCodeWrong).pageError().text) == sentences)
  }

  @Test func `a code of another length stays in its field`() throws {
    let error = FormError(.codeMalformed, 8, typed: "1234:567 <b>")
    #expect(FormError(error.text) == error)
    let page = Page.mailCode(
      Fixtures().target(), email: "ada@example.com", for: .signIn, digits: 8, resend: nil,
      errors: [error.pageError()])
    let fields = try HTMLDocument(Fixtures.html(page)).elements.filter { $0["name"] == "code" }
    #expect(fields.map { $0["value"] } == ["1234:567 <b>"])
    #expect(FormError(.codeMalformed, 8, typed: String(repeating: "1", count: 41)).typed == nil)
  }

  @Test func `the scopes of the user's data are named in the language of the page`() throws {
    let german = try #require(Languages.shipped.catalogs.first { $0.language == "de" })
    let view = PageView(catalog: german, app: "Northwind")
    let group = try #require(ScopeGroup.userData(["openid", "read:current_user"]))
    #expect(group.scopes.map(view.plain) == ["Das Profil und die Daten sehen"])
    #expect(ScopeGroup.userData(["openid"]) == nil)
  }

  @Test func `the page of an authenticator says whose it is, and opens an app of a phone`() throws {
    let document = try document("set-up-authenticator")
    let person = document.elements.first { $0["class"] == "lines" }
    #expect(person?.text == "Ada Lovelaceada@example.com")
    let link = try #require(document.all("a").first { $0["href"]?.hasPrefix("otpauth:") == true })
    #expect(link.text == "Open authenticator app")
    let key = try #require(document.elements.first { $0["class"] == "key" })
    #expect(key["data-copy"] == "Copy" && key["data-copied"] == "Copied")
  }

  @Test(arguments: [
    "javascript:alert(1)", "otpauth://hotp/a", "OTPAUTH://totp/a", "otpauth://totp/a\" b",
    "https://a.example/otpauth://totp/", "otpauth://totp/é", "",
  ])
  func `only the URI of an authenticator becomes its link`(uri: String) throws {
    #expect(Destination(otpauth: uri) == nil)
    let page = Page.setUpAuthenticator(
      Fixtures().target(), key: "GEZD", uri: uri, person: Person(email: "a@example.com")
    )
    #expect(try HTMLDocument(Fixtures.html(page)).all("a").allSatisfy { $0["class"] == nil })
  }

  @Test func `recovery codes can be copied, printed and downloaded in one row`() throws {
    let document = try document("recovery-codes")
    let list = try #require(document.elements.first { $0["class"] == "codes" })
    #expect(list["data-copy"] == "Copy" && list["data-print"] == "Print")
    #expect(document.all("a").first { $0.text == "Download" }?["class"] == "secondary")
    #expect(document.elements.contains { $0["class"] == "tools" && $0.text == "Download" })
  }

  @Test func `a code for support is only copied`() throws {
    let document = try document("support-code")
    let list = try #require(document.elements.first { $0["class"] == "codes" })
    #expect(list["data-copy"] == "Copy" && list["data-print"] == nil)
    #expect(document.all("button").map(\.text).contains("Create a new code"))
  }

  @Test(arguments: [
    ("grace.lovelace@mail.example.org", "grace<wbr>.lovelace@<wbr>mail<wbr>.example<wbr>.org"),
    ("a@b@c.d", "a@<wbr>b@<wbr>c<wbr>.d"), ("J. R. Smith", "J. R. Smith"), ("@", "@<wbr>"),
    ("<b>@x.y", "&lt;b&gt;@<wbr>x<wbr>.y"),
  ])
  func `an address breaks after the sign and before dots`(text: String, html: String) {
    let view = PageView(catalog: .english, app: "Northwind")
    #expect(view.breakable(text).map(\.html).joined() == html)
  }

  @Test func `a page of a new user names the client as that of the sign-in does`() throws {
    let introduction = try document("sign-up-address").elements.first {
      $0["class"] == "introduction"
    }
    #expect(introduction?.text == "Sign up to continue to Contoso Mail")
  }

  @Test func `an error repeats no link of its page`() throws {
    let reset = Fixtures.link("/u/t/forgot")
    let error = PageError(
      .message(.signInWrong), field: .password, link: Link(.message(.resetPassword), to: reset))
    let page = Page.password(
      Fixtures().target(), email: "ada@example.com", change: Fixtures.link("/u/t/sign-in"),
      reset: reset, errors: [error])
    let links = try HTMLDocument(Fixtures.html(page)).all("a").filter {
      $0["href"] == "/u/t/forgot"
    }
    #expect(links.map(\.text) == ["Forgot your password?"])
  }

  @Test func `the session of this device comes first`() throws {
    let time = CalendarTime(seconds: 1_900_000_000, nanoseconds: 0)
    let sessions = [
      SessionDescription(device: .name("Safari on iPhone"), time: time),
      SessionDescription(device: .name("Firefox on Linux"), time: time, isCurrent: true),
    ]
    let page = Page.sessions(sessions, endOthers: nil, back: Fixtures.link("/account"))
    let rows = try HTMLDocument(Fixtures.html(page)).all("dt").map(\.text)
    #expect(rows == ["Firefox on Linux", "Safari on iPhone"])
  }

  @Test func `a user that a page shows may be another one`() throws {
    let document = try document("consent")
    let link = try #require(document.all("a").first { $0.text == "Not you?" })
    #expect(link.ancestors.last == "div")
  }

  @Test func `the account has no row without an action`() throws {
    let full = try document("account")
    #expect(full.all("dt").map(\.text).contains("Linked accounts"))
    // The user has no connected apps.
    #expect(!full.all("dt").map(\.text).contains("Connected apps"))
    let removal = try #require(full.all("a").first { $0.text == "Delete" })
    #expect(removal["class"] == "danger")
    let bare = try document("account-bare")
    #expect(bare.all("dt").isEmpty && bare.all("h2").isEmpty)
  }

  @Test func `only the choice of a time zone begins with that of the browser`() throws {
    let choices = try document("profile").all("select")
    #expect(choices.filter { $0["data-zone"] != nil }.map { $0["name"] } == ["zone"])
  }

  @Test func `an app without a logo shows its initial`() throws {
    #expect(try document("sign-in").elements.first { $0["class"] == "mark" }?.text == "N")
    let page = Fixtures.renderer(Branding(name: "\u{7}ärzte")).html(
      .unknownApplication(), Fixtures.context(.english)
    )
    #expect(try HTMLDocument(page).elements.first { $0["class"] == "mark" }?.text == "Ä")
  }

  @Test func `pages that report a result have its icon`() throws {
    for (name, kind) in [
      ("done-passwordSaved", "success"), ("reset-sent", "information"), ("error-link", "warning"),
    ] {
      let classes = try document(name).elements.compactMap { $0["class"] }
      #expect(classes.contains("symbol \(kind)"), "\(name)")
    }
    #expect(try !html("sign-in").contains("class=\"symbol"))
  }
}
