import TestSupport
import Testing

@testable import Localization
@testable import Pages

@Suite struct EscapingTests {
  /// Texts that end elements, attributes, scripts or comments, with combining marks too.
  static let hostile = [
    "\"><script>alert(1)</script>", "'><img src=x onerror=alert(1)>",
    "</title></textarea></script>",
    "\"\u{301} autofocus onfocus=alert(1) x=\"\u{301}", "<\u{338}b>&\u{301}amp;",
    "{{app}}{{{app}}}",
    "{{#form}}{{/form}}", "--><!--", "&quot;&lt;", "javascript:alert(1)", "\r\nSet-Cookie: a=b\r\n",
  ]

  /// The structure of all pages with a harmless text.
  private static let skeletons = Result {
    try Fixtures(hostile: "plain").pages.map { try HTMLDocument(Fixtures.html($0.page)).skeleton }
  }

  @Test(arguments: hostile)
  func `no text changes the structure of a page`(text: String) throws {
    for ((name, page), skeleton) in zip(Fixtures(hostile: text).pages, try Self.skeletons.get()) {
      let document = try HTMLDocument(Fixtures.html(page))
      #expect(document.skeleton == skeleton, "\(name)")
      for element in document.elements {
        for (attribute, value) in element.attributes
        where ["href", "src", "action"].contains(attribute) {
          let isSafe = ["/", "#", "https://", "mailto:", "com.contoso.desk:", "otpauth://totp/"]
            .contains { value.hasPrefix($0) }
          #expect(isSafe, "\(name): \(value)")
        }
      }
    }
  }

  @Test(arguments: hostile)
  func `a value survives a form field byte for byte`(text: String) throws {
    let target = Fixtures(hostile: text).target()
    let page = Page.resetRequest(target, email: text, signIn: Fixtures.link("/"))
    let document = try HTMLDocument(Fixtures.html(page))
    let values = document.all("input").compactMap { $0["value"] }
    #expect(values.map { Array($0.utf8) } == [Array(text.utf8), Array(text.utf8)])
  }

  @Test(arguments: hostile)
  func `the name of an app is escaped everywhere`(text: String) throws {
    let renderer = Fixtures.renderer(Branding(name: text))
    for name in ["sign-in", "consent", "account", "error-throttled", "confirm-address"] {
      let page = try #require(Fixtures().pages.first { $0.name == name }).page
      let document = try HTMLDocument(renderer.html(page, Fixtures.context(.english)))
      #expect(try document.skeleton == HTMLDocument(Fixtures.html(page)).skeleton)
    }
  }

  @Test func `characters that reverse text are removed from names`() throws {
    let page = Page.confirmApplication(
      Fixtures().target(), client: "a\u{202e}b\u{0}\u{2066}c", person: Person(),
      cancel: Fixtures().target()
    )
    let heading = try HTMLDocument(Fixtures.html(page)).all("h1").first
    #expect(heading?.text == "Are you signing in to abc?")
  }

  @Test(arguments: hostile)
  func `markup escapes every text that is inserted`(text: String) throws {
    let parts = [text, text].map { part -> Markup in "<li>\(part)</li>" }
    let markup: Markup = """
      <!doctype html>
      <ul title="\(text)"\(attribute: "id", text)\(attribute: "class", nil)\(if: true, " hidden")\
      \(if: false, #" title="\#(text)""#)>\(parts)\(nil as Markup?)</ul>
      """
    let document = try HTMLDocument(markup.html)
    #expect(document.skeleton == ["ul title id hidden", "li", "li"])
    #expect(document.elements[0]["title"].map { Array($0.utf8) } == Array(text.utf8))
    #expect(document.elements[0]["id"].map { Array($0.utf8) } == Array(text.utf8))
    #expect(document.elements[1].text.utf8.elementsEqual(text.utf8))
  }

  @Test func `a message for a window is data, not a script`() throws {
    let text = "</script><script>alert('\u{2028}')</script>"
    let page = Page.webMessage(
      to: Fixtures.clientOrigin, response: [("state", text)], nonce: Fixtures.nonce
    )
    let document = try HTMLDocument(Fixtures.html(page))
    let scripts = document.all("script").filter { $0["src"] == nil }
    #expect(scripts.count == 1 && scripts[0]["nonce"] == Fixtures.nonce.text)
    #expect(!scripts[0].text.contains("alert"))
    let main = try #require(document.all("main").first)
    #expect(main["data-origin"] == "https://client.example")
    let json = try #require(main["data-message"])
    #expect(json.contains("authorization_response") && json.contains("alert"))
  }
}

@Suite struct DestinationTests {
  @Test(arguments: [
    "https://a.example", "https://a.example:8443/cb?code=1&state=x#y", "http://127.0.0.1:3000/",
    "http://[::1]:1/", "http://localhost/cb", "https://[2001:db8::1]/",
  ])
  func `web addresses are accepted`(url: String) {
    #expect(Destination(url: url)?.text == url)
  }

  @Test(arguments: [
    "", "http://a.example/", "javascript:alert(1)", "data:text/html,x", "//a.example", "https://",
    "https://user@a.example/", "https://a.example\\@b.example/", "https://a.example/ b",
    "https://a.example/\"x", "https://a.example/<", "https://a.example/\n", "https://é.example/",
    "https://a.example:/", "https://a.example:123456/", "https://a;b/", "https://[::1/",
    "http://localhost.a.example/", "http://127.0.0.1.a.example/", "HTTPS:/a.example",
    "https://a.example/\u{301}", "https://[]/", "https://a,b.example/",
  ])
  func `other addresses are refused`(url: String) {
    #expect(Destination(url: url) == nil)
  }

  @Test func `only a registered scheme is accepted`() {
    #expect(Destination(url: "com.a.b:/cb?x", registeredScheme: "com.a.b")?.origin == nil)
    #expect(Destination(url: "com.a.b:/cb?x", registeredScheme: "com.a.b") != nil)
    for (url, scheme) in [
      ("javascript:alert(1)", "javascript"), ("data:x", "data"), ("com.a.b:/cb", "com.a"),
      ("COM.A.B:/cb", "COM.A.B"), ("com.a.b:", "com.a.b"), ("com.a.b:/ c", "com.a.b"),
      ("1a:/cb", "1a"), (":/cb", ""), ("com.a.b:/\"", "com.a.b"), ("intent:/cb", "intent"),
      ("https:/cb", "https"), ("http://a.example/", "http"),
    ] {
      #expect(Destination(url: url, registeredScheme: scheme) == nil, "\(url)")
    }
  }

  @Test func `a path stays on this server`() {
    for path in ["/", "/a?b=/../c#d", "/a//b", "/.well-known/a", "/a..b"] {
      #expect(LocalPath(path)?.text == path)
    }
    for path in [
      "", "a", "//a.example", "/\\a.example", "/a b", "/\"", "/\n", "https://a.example", "/a/../b",
      "/a/%2E./b", "/.", "/a/.?b",
    ] {
      #expect(LocalPath(path) == nil, "\(path)")
    }
  }

  @Test func `a mail address has no header fields`() {
    #expect(Destination(mailTo: "help@example.com")?.text == "mailto:help@example.com")
    for address in ["help", "@a", "a@", "a@b@c", "a@b?subject=x", "a@b\n"] {
      #expect(Destination(mailTo: address) == nil, "\(address)")
    }
  }

  @Test func `a nonce has at least 16 bytes`() {
    #expect(Nonce(bytes: Array(0..<15)) == nil)
    #expect(Fixtures.nonce.text == "AAECAwQFBgcICQoLDA0ODw")
  }
}
