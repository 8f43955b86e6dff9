import Testing

@testable import Pages

@Suite struct MailTests {
  static let url = "https://users.example/u/verify?token=ds_verify_YWRh&state=a"

  static func code(_ text: String = "Enter this code where you asked for it:") -> Mail {
    Mail(
      subject: text,
      text:
        "\(text)\n\n4829 1534\n\nIt works once, within 10 minutes.\n\nNot you? Ignore this email.\n",
      language: "en",
      secret: "4829 1534"
    )
  }

  static func link(_ text: String = "Diesen Link innerhalb eines Tages öffnen:") -> Mail {
    Mail(
      subject: text, text: "\(text)\n\n\(url)\n\nNicht angefordert? Diese E-Mail ignorieren.\n",
      language: "de", secret: "ds_verify_YWRh", label: text
    )
  }

  private static let page = "https://users.example/u/reset"

  static let notice = Mail(
    subject: "Your Northwind password was changed",
    text: """
      The password of your account was changed.

      Time: 17 March 2030, 17:46 UTC.

      If it was you, ignore this email.

      Not you? Reset your password with this email address.

      \(page)

      """,
    language: "en", secret: page, label: "Secure my account"
  )

  private func document(_ mail: Mail) throws -> HTMLDocument {
    try HTMLDocument(Fixtures.renderer.html(mail))
  }

  @Test(arguments: EscapingTests.hostile)
  func `no text changes the structure of a mail`(text: String) throws {
    // A line end in a text makes a line of the paragraph.
    let text = text.filter { !$0.isNewline }
    for (plain, hostile) in [(Self.code(), Self.code(text)), (Self.link(), Self.link(text))] {
      let branded = Fixtures.renderer(Branding(name: text))
      let document = try HTMLDocument(branded.html(hostile))
      #expect(try document.skeleton == self.document(plain).skeleton)
      #expect(document.all("h1").first?.text == text)
    }
  }

  @Test func `a mail loads nothing, and has the colors of the app`() throws {
    let color = try #require(Color("#ffdd00"))
    let renderer = Fixtures.renderer(Branding(name: "Northwind", color: color))
    let html = renderer.html(Self.link())
    let document = try HTMLDocument(html)
    #expect(document.all("img").isEmpty && document.all("link").isEmpty)
    #expect(!html.contains("url(") && document.elements.allSatisfy { $0["src"] == nil })
    #expect(document.elements.first?["lang"] == "de" && document.elements.first?["dir"] == "ltr")
    #expect(document.all("table").allSatisfy { $0["role"] == "presentation" })
    #expect(document.all("a").map { $0["href"] } == [Self.url, Self.url])
    let cell = try #require(document.elements.first { $0["class"] == "button" })
    #expect(cell["style"]?.contains("background:#ffdd00") == true)
    let label = try #require(document.all("a").first)
    #expect(label["style"]?.contains("color:#000000") == true)
  }

  @Test(arguments: [
    ("one", [["one"]]), ("one\ntwo\n", [["one", "two"]]),
    ("\n\none\r\n\r\n \t\rtwo", [["one"], ["two"]]),
    ("", []), ("\n \n", []),
  ])
  func `an empty line ends a paragraph`(text: String, paragraphs: [[String]]) throws {
    let mail = Mail(subject: "s", text: text, language: "en")
    let lines = mail.paragraphs.map { paragraph in
      paragraph.map { line in
        line.map { if case .words(let words) = $0 { String(words) } else { "?" } }.joined()
      }
    }
    #expect(lines == paragraphs)
    let document = try document(mail)
    #expect(document.all("p").count == paragraphs.count && document.all("a").isEmpty)
    #expect(document.all("br").count == paragraphs.map { $0.count - 1 }.reduce(0, +))
  }

  @Test func `a token stays in its sentence, and its link gets a button below`() throws {
    let mail = Mail(
      subject: "s", text: "Use\u{301} ds_verify_YWRh or <\(Self.url)>\u{301}, not ds_verify_YWR",
      language: "en", secret: "ds_verify_YWRh", label: "Verify email address"
    )
    let document = try document(mail)
    #expect(document.all("strong").map(\.text) == ["ds_verify_YWRh"])
    #expect(document.all("p").map(\.text) == [mail.text])
    #expect(document.all("a").map(\.text) == [Self.url, "Verify email address"])
    #expect(!mail.preheader.contains("YWRh"))
  }

  @Test(arguments: [
    ("https://a.example/?x=1.", ["https://a.example/?x=1"]), ("https://", []), ("http", []),
    ("(https://a.example), https://b.example!", ["https://a.example", "https://b.example"]),
    ("http://a.example", []), ("HTTPS://a.example", []), ("httphttps://a.example", []),
    ("javascript:alert(1)", []), ("https://a.example\u{301}", ["https://a.example"]),
    ("https://a@b.example https://c.example", ["https://c.example"]),
  ])
  func `only URLs of https become links, without the punctuation around them`(
    text: String, links: [String]
  ) throws {
    let document = try document(Mail(subject: "s", text: text, language: "en"))
    #expect(document.all("a").map { $0["href"] } == links)
    #expect(document.all("p").map(\.text) == [text])
  }

  @Test(arguments: [
    "", "short", String(repeating: "word ", count: 40), String(repeating: "x", count: 300),
    "short " + String(repeating: "x", count: 300), String(repeating: "é\u{301}👩‍👩‍👧 ", count: 60),
    String(repeating: "nine char ", count: 9) + "4829 1534", "4829 1534 is it, 4829 1534!",
  ])
  func `a preheader has 85 to 100 characters, and never the code`(text: String) {
    for language in ["en", "ar"] {
      let mail = Mail(subject: "s", text: text, language: language, secret: "4829 1534")
      #expect((85...100).contains(mail.preheader.count), "\(mail.preheader.count)")
      #expect(!mail.preheader.contains("4829"))
    }
  }

  @Test(arguments: [
    (
      "Enter this code:\n\n4829 1534\n\nIt works once. Do not share it.",
      "Enter this code: It works once. Do not share it."
    ),
    ("One. Two! Three", "One. Two! Three"),
    ("First.\n\n" + String(repeating: "a longer sentence ", count: 8) + ".", "First."),
    ("コードを入力してください。\n\n4829 1534", "コードを入力してください。"),
  ])
  func `a preheader ends with its sentence`(text: String, preheader: String) {
    let mail = Mail(subject: "s", text: text, language: "en", secret: "4829 1534")
    #expect(mail.preheader.hasPrefix(preheader))
    let rest = mail.preheader.dropFirst(preheader.count)
    #expect(rest.unicodeScalars.allSatisfy { $0 == "\u{a0}" || $0 == "\u{200b}" })
  }

  @Test func `a longer first sentence ends with an ellipsis`() {
    let text = String(repeating: "nine char ", count: 20)
    let preheader = Mail(subject: "s", text: text, language: "en").preheader
    #expect(preheader == String(repeating: "nine char ", count: 9).dropLast(0) + "nine…")
  }

  @Test func `a link alone in its paragraph becomes a button, with the address at the end`() throws
  {
    let links = try document(Self.notice).all("a")
    #expect(links.map { $0["href"] } == [Self.page, Self.page])
    #expect(links.map(\.text) == ["Secure my account", Self.page])
    #expect(!Self.notice.preheader.contains("users.example"))
  }

  @Test func `words stand before the address of a button, which comes last`() throws {
    let mail = Mail(
      subject: "s", text: "Open:\n\n\(Self.page)\n\nNot you?\n", language: "en", secret: Self.page,
      label: "Open", fallback: "Does it not <work>?")
    let text = try document(mail).all("td").first { $0["class"] == "card" }?.text ?? ""
    let parts = ["Open:", "Not you?", "Does it not <work>?", Self.page]
    let places = parts.map { text.firstRange(of: $0)?.lowerBound }
    #expect(
      !places.contains(nil) && places.compactMap(\.self) == places.compactMap(\.self).sorted(),
      "\(text)")
  }

  @Test func `an email address of the support becomes a button`() throws {
    let mail = Mail(
      subject: "Account deleted", text: "Tell us:\n\nhelp@app.example\n", language: "en",
      secret: "help@app.example", label: "Contact support")
    let links = try document(mail).all("a")
    #expect(links.map { $0["href"] } == ["mailto:help@app.example", "mailto:help@app.example"])
    #expect(links.map(\.text) == ["Contact support", "help@app.example"])
  }

  @Test func `random texts keep their words and their order`() throws {
    let parts = [
      "a", "é", "\u{301}", " ", "\t", "\n", "\r\n", "\n\n", "<p>", "&amp;", "\"", "http",
      "https://", "a.example", "/?token=", "s3cret", ".", ")", "確", "👩‍👩‍👧",
    ]
    for _ in 0..<300 {
      let text = (0..<Int.random(in: 0...60)).map { _ in parts.randomElement() ?? "" }.joined()
      let mail = Mail(subject: "s", text: text, language: "en", secret: "s3cret", label: "Open")
      let document = try document(mail)
      let words = document.all("p").filter { $0["class"] != "quiet" }
      let addresses = document.all("p").filter { $0["class"] == "quiet" }
      func visible(_ text: String) -> [Unicode.Scalar] {
        text.unicodeScalars.filter { !$0.properties.isWhitespace }
      }
      let (shown, written) = (visible(words.map(\.text).joined()), visible(text))
      // Addresses of buttons come last.
      let all = shown + visible(addresses.map(\.text).joined())
      #expect(all.sorted() == written.sorted(), "\(text)")
      var rest = written[...]
      for scalar in shown { rest = rest.drop { $0 != scalar }.dropFirst() }
      #expect(addresses.isEmpty ? rest.isEmpty : shown.count < written.count, "\(text)")
      #expect(!mail.preheader.contains("s3cret") && (85...100).contains(mail.preheader.count))
    }
  }

  @Test(arguments: [("en", "ltr"), ("AR-eg", "rtl"), ("he", "rtl"), ("arn", "ltr"), ("", "ltr")])
  func `a mail has the direction of its language`(language: String, direction: String) throws {
    let document = try document(Mail(subject: "s", text: "t", language: language))
    for element in [document.elements.first, document.all("table").first] {
      #expect(element?["lang"] == language && element?["dir"] == direction)
    }
  }
}
