import Runtime
import Testing

@testable import Accounts
import DomainNames
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
    "ada@x.ｌｏｃａｌ", "ada@x.𝗅𝗈𝖼𝖺𝗅", "ada@127。0。0。1", "ada@a。example.com/", "ada@-a.example.com",
    "ada@a-.example.com",
    "ada@a_b.example.com", "ada@a!.example.com", "ada@a:25.example.com", "ada@example.com.",
    ".ada@example.com", "ada.@example.com", "a..da@example.com", "(ada)@example.com",
    "a:b@example.com", "a;b@example.com", "a\\b@example.com",
    String(repeating: "a", count: 65) + "@example.com",
    "ada@" + String(repeating: "a", count: 64) + ".com",
    // Few relays take letters beyond ASCII before the @.
    "k\u{131}ss@example.com", "ünï@example.com", "\u{438}\u{432}\u{430}\u{43d}@example.com",
    "ad\u{430}@example.com", "jose\u{301}@example.com",
    // Domains that no registry has: symbols, and labels that decode to no valid name.
    "ada@\u{1f4a9}.la", "ada@xn--ls8h.la", "ada@xn--a.de", "ada@xn--.com", "ada@xn--99999999.com",
    "ada@xn--mnchen-3ya.local", "ada@xn--mnchen-3ya", "ada@r3---sn.münchen.de",
    "ada@" + String(repeating: "ö", count: 63) + ".de", "ada@münchen.de\0.example.com",
  ])
  func `an unreachable address is refused`(text: String) {
    #expect(code(text) == "email")
    #expect(code(text, mixed: true) == "email")
  }

  @Test(arguments: [
    "a@b.c", "ada+list@mail.example.com", "o'neil/x=y@example.test", "ada@xn--mnchen-3ya.example",
    "ada@münchen.example", "ada@straße.de", "ada@1.2.3.museum", "ada@3com.com", "ADA@EXAMPLE.COM",
    "ADA@MÜNCHEN.DE", "ada@ｅｘａｍｐｌｅ。com", "ａｄａ＋ｘ@example.com", "ａda@münchen.de",
    "123@example.com", String(repeating: "a", count: 64) + "@example.com",
  ])
  func `a reachable address is accepted`(text: String) { #expect(code(text) == nil) }

  // The first label contains a Cyrillic letter that looks like an a.
  @Test(arguments: [
    "ada@ex\u{430}mple.com", "ada@xn--exmple-4nf.com", "ada@XN--EXMPLE-4NF.com",
    "ada@mail.ex\u{430}mple.com", "ada@\u{3b1}lpha.com", "ada@xn--pypal-4ve.com",
    "ada@\u{3bf}rder-desk.com", "ada@\u{561}da.com", "ada@\u{430}\u{3b1}.com",
    "ada@\u{3042}\u{ac00}.com", "ada@\u{3105}\u{3042}.com", "ada@a\u{30a2}\u{3105}.com",
  ])
  func `an address that mixes scripts is refused unless the app allows it`(text: String) {
    #expect(code(text) == "mixed_scripts")
    #expect(code(text, mixed: true) == nil)
  }

  @Test(arguments: [
    // One script, with digits and marks that all scripts share.
    "\u{438}\u{432}\u{430}\u{43d}-7.com", "jose\u{301}.com", "\u{438}\u{306}\u{43e}.com",
    "\u{3b1}\u{3b2}.com", "\u{5e9}\u{5dc}.com", "\u{909}\u{926}\u{93e}.com",
    "\u{645}\u{62b}\u{627}\u{644}.com",
    // Different scripts in different labels.
    "\u{438}\u{43c}\u{44f}.com", "\u{4f8b}\u{3048}.\u{30c6}\u{30b9}\u{30c8}.example",
    // Scripts of one writing system.
    "\u{7530}\u{4e2d}\u{305f}\u{30ab}\u{30fc}.com", "tanaka\u{7530}\u{4e2d}.com",
    "\u{738b}\u{3105}\u{3106}.com", "\u{ae40}\u{91d1}kim.com",
    // Full-width letters are Latin.
    "\u{ff41}\u{ff44}\u{ff41}.com", "\u{ff41}da.com",
  ])
  func `a domain in one writing system is accepted`(domain: String) {
    #expect(code("ada@\(domain)") == nil)
  }

  @Test(arguments: [
    ("a@münchen.de", "a@xn--mnchen-3ya.de"), ("A@mu\u{308}NCHEN.de", "A@xn--mnchen-3ya.de"),
    ("a@xn--mnchen-3ya.de", "a@xn--mnchen-3ya.de"), ("a@XN--MNCHEN-3YA.DE", "a@xn--mnchen-3ya.de"),
    ("a@münchen。de", "a@xn--mnchen-3ya.de"), ("a@straße.de", "a@xn--strae-oqa.de"),
    ("a@mail.xn--mnchen-3ya.münchen.de", "a@mail.xn--mnchen-3ya.xn--mnchen-3ya.de"),
    ("ａＢ@ｅｘａｍｐｌｅ.com", "aB@example.com"), ("ａ@Example.com", "a@Example.com"),
    // Without an international domain, the text stays.
    ("Ada@Example.COM", "Ada@Example.COM"), ("a@r3---sn.com", "a@r3---sn.com"),
    // Without a canonical form, too.
    ("a@xn--a.de", "a@xn--a.de"), ("münchen.de", "münchen.de"), ("a@", "a@"), ("@ü", "@xn--tda"),
  ])
  func `a domain has one form`(text: String, form: String) {
    let canonical = EmailAddress.canonical(text)
    #expect(Array(canonical.utf8) == Array(form.utf8))
    #expect(Array(EmailAddress.canonical(canonical).utf8) == Array(form.utf8))
  }

  @Test(arguments: [
    ("a@xn--mnchen-3ya.de", "a@münchen.de"), ("A@xn--strae-oqa.de", "A@straße.de"),
    ("a@example.com", "a@example.com"), ("a@Example.com", "a@Example.com"),
    // Lookalikes, and what decodes to no valid name, are shown as they are stored.
    ("a@xn--pypal-4ve.com", "a@xn--pypal-4ve.com"), ("a@xn--a.de", "a@xn--a.de"), ("a", "a"),
  ])
  func `people read a domain in Unicode`(text: String, shown: String) {
    #expect(Array(DomainName.shown(inAddress: text).utf8) == Array(shown.utf8))
  }

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
