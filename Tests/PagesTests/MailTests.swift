import Testing

@testable import Pages

@Suite struct MailTests {
  static func mail(_ text: String? = nil) -> Mail {
    Mail(
      preheader: text
        ?? "Enter the code on the page that asked for it. It is valid for ten minutes from now on.",
      heading: text ?? "Your sign-in code",
      paragraphs: [
        text ?? "Enter this code on the page that asked for it. It is valid for 10 minutes.",
        text ?? "Requested with Firefox on Debian, near London.",
      ],
      code: text ?? "482 915",
      button: .init(text ?? "Confirm address", to: Fixtures.callback),
      footer: [text ?? "Not you? Ignore this mail."]
    )
  }

  @Test(arguments: EscapingTests.hostile)
  func `no text changes the structure of a mail`(text: String) throws {
    let plain = try HTMLDocument(Fixtures.renderer.html(Self.mail(), in: .english))
    let branded = Fixtures.renderer(Branding(name: text))
    let document = try HTMLDocument(branded.html(Self.mail(text), in: .english))
    #expect(document.skeleton == plain.skeleton)
  }

  @Test func `a mail loads nothing, and has the colors of the app`() throws {
    let color = try #require(Color("#ffdd00"))
    let renderer = Fixtures.renderer(Branding(name: "Northwind", color: color))
    let html = renderer.html(Self.mail(), in: .german)
    let document = try HTMLDocument(html)
    #expect(document.all("img").isEmpty && document.all("link").isEmpty)
    #expect(!html.contains("url(") && document.elements.allSatisfy { $0["src"] == nil })
    #expect(document.elements.first?["lang"] == "de")
    #expect(document.all("table").allSatisfy { $0["role"] == "presentation" })
    let button = try #require(document.all("a").first)
    #expect(button["href"] == Fixtures.callback.text)
    #expect(button["style"]?.contains("background:#ffdd00;color:#000000") == true)
  }

  @Test func `a mail may have no code, no button and no footer`() throws {
    let mail = Mail(preheader: "p", heading: "h", paragraphs: ["one"])
    let document = try HTMLDocument(Fixtures.renderer.html(mail, in: .english))
    #expect(document.all("a").isEmpty && document.all("p").map(\.text) == ["one"])
  }
}
