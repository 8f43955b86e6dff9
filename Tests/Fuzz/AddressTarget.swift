@testable import Accounts
import DomainNames
import Outbound
import Runtime

extension FuzzTarget {
  /// Email addresses, also with international domains.
  static let addresses = FuzzTarget(
    "addresses",
    longest: 2_048,
    words: [
      "@", ".", "xn--", "XN--", "xn--mnchen-3ya", "münchen", "mu\u{308}nchen", "ß", "ς", "\u{3002}",
      "\u{ff41}", "\u{ff20}", "\u{ad}", "\u{200d}", "\u{430}", "\u{5d0}", "\u{1f4a9}", ".de", " ",
    ],
    bound: MemoryBound(factor: 64, base: 131_072)
  ) { input in
    let typed = text(input)
    let form = EmailAddress.canonical(typed)
    let again = EmailAddress.canonical(form)
    expect(Array(again.utf8) == Array(form.utf8), "\(form) has another form, \(again)")
    for isMixed in [false, true] where EmailAddress.fault(in: typed, at: "", mixed: isMixed) == nil
    {
      let fault = EmailAddress.fault(in: form, at: "", mixed: isMixed)
      expect(fault == nil, "\(typed) is accepted, and \(form) refused: \(fault?.detail ?? "")")
      expect(MailAddress.fault(in: form) == nil, "no mail reaches \(form)")
      let shown = DomainName.shown(inAddress: form)
      let read = EmailAddress.canonical(shown)
      expect(Array(read.utf8) == Array(form.utf8), "\(form) is shown as \(shown), which is \(read)")
    }
  }
}
