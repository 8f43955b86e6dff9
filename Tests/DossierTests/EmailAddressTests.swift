import Runtime
import Testing

@testable import Accounts
@testable import Delivery
import ReferenceData

@Suite struct EmailAddressTests {
  private func code(_ text: String, mixed: Bool = false) -> String? {
    EmailAddress.fault(in: text, at: "/email", mixed: mixed)?.code
  }

  @Test(arguments: [
    "ada@[127.0.0.1]", "ada@[IPv6:2001:db8::1]", "ada@127.0.0.1", "ada@127.0.0.１", "ada@10",
    "ada@localhost", "ada@mail", "ada@a.localhost", "ada@printer.local", "ada@PRINTER.LOCAL",
    "ada@nobody.invalid", "ada@abc.onion", "ada@name.alt", "ada@1.0.0.127.in-addr.arpa",
    "ada@x.ｌｏｃａｌ", "ada@x.𝗅𝗈𝖼𝖺𝗅", "ada@a。example.com/", "ada@-a.example.com",
    "ada@a-.example.com",
    "ada@a_b.example.com", "ada@a!.example.com", "ada@a:25.example.com", "ada@example.com.",
    ".ada@example.com", "ada.@example.com", "a..da@example.com", "(ada)@example.com",
    "a:b@example.com", "a;b@example.com", "a\\b@example.com",
    String(repeating: "a", count: 65) + "@example.com",
    "ada@" + String(repeating: "a", count: 64) + ".com",
  ])
  func `an unreachable address is refused`(text: String) {
    #expect(code(text) == "email")
    #expect(code(text, mixed: true) == "email")
  }

  @Test(arguments: [
    "a@b.c", "ada+list@mail.example.com", "o'neil/x=y@example.test", "ada@xn--mnchen-3ya.example",
    "ada@münchen.example", "ada@straße.de", "ada@1.2.3.museum", "ada@3com.com", "ADA@EXAMPLE.COM",
    "123@example.com", String(repeating: "a", count: 64) + "@example.com",
  ])
  func `a reachable address is accepted`(text: String) { #expect(code(text) == nil) }

  // The first two contain a Cyrillic letter that looks like an a.
  @Test(arguments: [
    "\u{430}da@example.com", "ad\u{430}@example.com", "ada@ex\u{430}mple.com",
    "ada@mail.ex\u{430}mple.com", "\u{3b1}lpha@example.com", "\u{3bf}rder.desk@example.com",
    "\u{561}da@example.com", "\u{430}\u{3b1}@example.com", "\u{5d0}a@example.com",
    "\u{627}\u{5d0}@example.com", "\u{3042}\u{ac00}@example.com", "\u{3105}\u{3042}@example.com",
    "\u{13a0}da@example.com", "a\u{30a2}\u{3105}@example.com",
  ])
  func `an address that mixes scripts is refused unless the app allows it`(text: String) {
    #expect(code(text) == "mixed_scripts")
    #expect(code(text, mixed: true) == nil)
  }

  @Test(arguments: [
    // One script, with digits and marks that all scripts share.
    "ada.99_x-y@example.com", "\u{438}\u{432}\u{430}\u{43d}.7@example.com",
    "jose\u{301}@example.com",
    "\u{438}\u{306}\u{43e}@example.com", "\u{3b1}\u{3b2}@example.com", "\u{5e9}\u{5dc}@example.com",
    "\u{909}\u{926}\u{93e}\u{967}@example.com", "\u{645}\u{62b}\u{627}\u{644}\u{661}@example.com",
    // Different scripts in different parts.
    "\u{438}\u{432}\u{430}\u{43d}@example.com", "ada@\u{438}\u{43c}\u{44f}.com",
    "ada@\u{4f8b}\u{3048}.\u{30c6}\u{30b9}\u{30c8}.example",
    // Scripts of one writing system.
    "\u{7530}\u{4e2d}\u{305f}\u{30ab}\u{30fc}@example.com", "tanaka\u{7530}\u{4e2d}@example.com",
    "\u{738b}\u{3105}\u{3106}@example.com", "\u{ae40}\u{91d1}kim@example.com",
    // Full-width letters are Latin.
    "\u{ff41}\u{ff44}\u{ff41}@example.com", "\u{ff41}da@example.com",
  ])
  func `an address in one writing system is accepted`(text: String) { #expect(code(text) == nil) }

  @Test func `characters have the scripts of Unicode`() {
    let scripts: [(Unicode.Scalar, Substring?)] = [
      ("a", "Latn"), ("Z", "Latn"), ("7", nil), ("_", nil), ("\u{e9}", "Latn"),
      ("\u{1e9e}", "Latn"),
      ("\u{301}", nil), ("\u{3a9}", "Grek"), ("\u{1f00}", "Grek"), ("\u{44f}", "Cyrl"),
      ("\u{1c80}", "Cyrl"), ("\u{a640}", "Cyrl"), ("\u{567}", "Armn"), ("\u{10d0}", "Geor"),
      ("\u{e01}", "Thai"), ("\u{30fc}", nil), ("\u{30a2}", "Kana"), ("\u{ff71}", "Kana"),
      ("\u{3042}", "Hira"), ("\u{4e00}", "Hani"), ("\u{20000}", "Hani"), ("\u{3005}", "Hani"),
      ("\u{ac00}", "Hang"), ("\u{1100}", "Hang"), ("\u{3105}", "Bopo"), ("\u{1e900}", "Adlm"),
      ("\u{10ffff}", nil), ("\u{1d41a}", nil), ("\u{2ff}", nil),
    ]
    for (scalar, script) in scripts { #expect(Script.of(scalar) == script, "\(scalar.value)") }
  }

  @Test(arguments: [
    ("ada@example.com", "ada at example dot com"),
    ("a+www.evil.example@b.c", "a+www dot evil dot example at b dot c"),
    ("http://evil@b.c", "http   evil at b dot c"),
  ])
  func `an address in words contains no link`(email: String, words: String) {
    #expect(AppMail.inWords(email) == words)
  }
}
