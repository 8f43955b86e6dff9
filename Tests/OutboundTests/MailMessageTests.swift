import Outbound
import Testing

/// Tests composed messages by parsing them with Python's `email` package.
@Suite struct MailMessageTests {
  private func message(
    from: MailAddress = MailAddress("dossier@example.com"),
    to: MailAddress = MailAddress("ada@example.com"), subject: String = "Welcome",
    text: String = "Hello", html: String? = nil, id: String? = nil
  ) throws -> MailMessage {
    try MailMessage(from: from, to: to, subject: subject, text: text, html: html, id: id)
  }

  @Test func `subjects and names of all kinds survive`() async throws {
    let texts = [
      "Welcome", "Grüße aus Köln", "確認コード 123456", "👩‍👩‍👧‍👦 family", "=?utf-8?B?SGk=?=", " outer blanks ",
      "a: b; c, d <e@f> \"quoted\" \\ back", String(repeating: "long words ", count: 20) + "end",
      String(repeating: "ü", count: 125), String(repeating: "e\u{301}", count: 80), "\u{2028}x",
      String(repeating: "x", count: 60), String(repeating: "x", count: 61), "(comment)", "a.b",
    ]
    let messages = try texts.map { text in
      try message(
        from: MailAddress("dossier@example.com", name: text),
        to: MailAddress("a.b+c_d@sub.example.co", name: text), subject: text
      )
    }
    let parsed = try await ParsedMessage.read(messages)
    for (one, message) in zip(parsed, messages) { one.expectToBe(message) }
    #expect(parsed.map(\.longestInHead).max() ?? 0 <= 76)
  }

  @Test func `the longest subject and addresses stay within the line length`() async throws {
    let domain = [63, 63, 61].map { String(repeating: "d", count: $0) }.joined(separator: ".")
    let address = String(repeating: "l", count: 64) + "@" + domain
    #expect(address.utf8.count == 254)
    let one = try message(
      from: MailAddress(address, name: String(repeating: "é", count: 127)),
      to: MailAddress(address), subject: String(repeating: "😀", count: 249)
    )
    let parsed = try await ParsedMessage.read([one])
    parsed.first?.expectToBe(one)
  }

  @Test func `bodies of all kinds survive`() async throws {
    let texts = [
      "", "Hello", "one\ntwo\n", "one\r\ntwo\r\n\r\n", "old\rmac", "\n\nstarts empty",
      ".\n..\n.dot\nend\n.", "From here\n>From there", "trailing \t \nblanks  ", "ü \t \nblanks  ",
      "tab\tand = sign",
      String(repeating: "x", count: 998), String(repeating: "x", count: 999),
      String(repeating: "Zeile mit Ümlaut ", count: 300), String(repeating: "確", count: 2_000),
      "é" + String(repeating: " ", count: 200), String(repeating: "=", count: 200) + "ü",
      "https://example.com/?token=" + String(repeating: "a=b&", count: 40), "escape \u{1b}[1m",
      "--=_0123456789abcdef\n--\n", "soft =\nend=", "emoji 👩‍👩‍👧‍👦\n", "x\u{85}y\u{2028}z",
    ]
    let messages = try texts.flatMap { text in
      [try message(text: text), try message(text: text, html: "<p>\(text)</p>")]
    }
    let parsed = try await ParsedMessage.read(messages)
    #expect(parsed.count == messages.count)
    for (one, message) in zip(parsed, messages) { one.expectToBe(message) }
  }

  @Test func `random texts survive`() async throws {
    let scalars: [Unicode.Scalar] = Array("ab =?.<>\"\\\t@é確😀\u{301}_-".unicodeScalars)
    let messages = try (0..<200).map { _ in
      func text(_ extra: [Unicode.Scalar]) -> String {
        let count = Int.random(in: 1...220)
        return String(
          String.UnicodeScalarView(
            (0..<count).map { _ in (scalars + extra).randomElement() ?? "x" }
          )
        )
      }
      return try message(
        to: MailAddress(
          "ada@example.com", name: String(text([]).replacing("\t", with: "").prefix(60))
        ),
        subject: text([]).replacing("\t", with: "") + "x",
        text: text(["\n", "\r"]),
        html: Bool.random() ? text(["\n"]) : nil
      )
    }
    let parsed = try await ParsedMessage.read(messages)
    for (one, message) in zip(parsed, messages) { one.expectToBe(message) }
  }

  @Test func `ASCII is sent unencoded, and two forms are alternatives`() async throws {
    let link = "https://example.com/confirm?token=" + String(repeating: "Z", count: 300)
    let parsed = try await ParsedMessage.read([
      message(text: "Follow \(link)"), message(text: "a", html: "<b>ü</b>"),
    ])
    #expect(parsed.map(\.kind) == ["text/plain", "multipart/alternative"])
    #expect(parsed.map(\.encodings) == [["7bit"], ["7bit", "quoted-printable"]])
    #expect(parsed.first?.names.contains("Auto-Submitted") == true)
  }

  @Test func `a message is composed deterministically, and messages have different ids`() throws {
    let one = try message(html: "x")
    #expect(one.composed() == one.composed())
    #expect(try message().id != one.id)
    #expect(try message(id: "abc.1").id == "abc.1@example.com")
  }

  @Test(arguments: ["\r", "\n", "\r\n", "\0", "\r\nBcc: eve@example.com", "\u{7f}", "\u{85}"])
  func `the error for control characters names the field`(_ evil: String) {
    func field(_ make: () throws -> MailMessage) -> MailMessageError? {
      do { _ = try make() } catch { return error as? MailMessageError }
      return nil
    }
    let address = evil == "\u{85}" ? MailMessageError.Reason.notASCII : .controlCharacter
    let cases: [(MailMessageError?, MailMessageError.Field, MailMessageError.Reason)] = [
      (field { try message(from: MailAddress("d@example.com\(evil)")) }, .from, address),
      (
        field { try message(from: MailAddress("d@example.com", name: "D\(evil)")) }, .fromName,
        .controlCharacter
      ),
      (field { try message(to: MailAddress("a\(evil)@example.com")) }, .to, address),
      (
        field { try message(to: MailAddress("a@example.com", name: "A\(evil)")) }, .toName,
        .controlCharacter
      ),
      (field { try message(subject: "S\(evil)x") }, .subject, .controlCharacter),
      (field { try message(id: "i\(evil)") }, .id, .malformed),
    ]
    for (error, field, reason) in cases {
      #expect(error == MailMessageError(field: field, reason: reason))
    }
  }

  @Test func `bodies may contain anything except NUL`() throws {
    #expect(throws: MailMessageError(field: .text, reason: .controlCharacter)) {
      try message(text: "a\0b")
    }
    #expect(throws: MailMessageError(field: .html, reason: .controlCharacter)) {
      try message(html: "a\0b")
    }
    #expect(throws: MailMessageError(field: .text, reason: .tooLong(limit: 1_048_576))) {
      try message(text: String(repeating: "x", count: 1_048_577))
    }
    #expect(throws: MailMessageError(field: .subject, reason: .empty)) { try message(subject: "") }
    #expect(throws: MailMessageError(field: .subject, reason: .tooLong(limit: 998))) {
      try message(subject: String(repeating: "x", count: 999))
    }
  }

  @Test(arguments: [
    "a@b", "ada@example.com", "a.b+tag@x-y.example", "!#$%&'*+-/=?^_`{|}~@example.com",
    "1@2.example",
    "ada@xn--mnchen-3ya.example",
  ])
  func `valid addresses are accepted`(_ address: String) {
    #expect(MailAddress.fault(in: address) == nil)
  }

  @Test(arguments: [
    "ada", "@example.com", "ada@", "a@b@c", "a..b@example.com", ".a@example.com", "a.@example.com",
    "a b@example.com", "\"a\"@example.com", "a@[127.0.0.1]", "a@-x.example", "a@x-.example",
    "a@x..y",
    "a@x.example.", "<a@example.com>", "a@example.com,b@example.com", "a(c)@example.com",
    "a@ex_a.com",
    "a@" + String(repeating: "x", count: 64) + ".example",
  ])
  func `malformed addresses are refused`(_ address: String) {
    #expect(MailAddress.fault(in: address) == .malformed)
  }

  @Test func `long, empty and non-ASCII addresses have their own errors`() {
    #expect(MailAddress.fault(in: "") == .empty)
    #expect(MailAddress.fault(in: "ü@example.com") == .notASCII)
    #expect(MailAddress.fault(in: String(repeating: "x", count: 65) + "@b") == .tooLong(limit: 64))
    let long = "a@" + String(repeating: "x.", count: 130) + "y"
    #expect(MailAddress.fault(in: long) == .tooLong(limit: 254))
  }
}
