import CIDN2
import ReferenceData

/// The two forms of an international domain name: `xn--mnchen-3ya.de` and `münchen.de`.
///
/// Both are computed without transitional processing, as browsers do.
/// - Source: Unicode Technical Standard #46.
package enum DomainName {
  /// In bytes: the longest domain of the DNS, with four bytes for each character.
  private static let limit = 4 * 253

  /// Returns the ASCII form of a domain, in lowercase; nil if it has none.
  ///
  /// Two spellings with the same form are the same domain.
  package static func ascii(_ domain: String) -> String? {
    if isPlain(domain) { return domain.lowercased() }
    guard let form = encoded(domain), encoded(decoded(form) ?? "") == form else { return nil }
    return form
  }

  /// Returns whether two spellings are of one domain; false for text that is no domain.
  package static func areSame(_ one: String, _ other: String) -> Bool {
    guard let one = ascii(one), let other = ascii(other) else { return false }
    return one.utf8.elementsEqual(other.utf8)
  }

  /// Returns the form of an ASCII domain that people read.
  ///
  /// It is in Unicode, unless a label mixes scripts or the domain has no Unicode form.
  package static func shown(_ domain: String) -> String {
    guard !isPlain(domain), let form = ascii(domain), let text = decoded(form) else {
      return domain
    }
    let labels = text.unicodeScalars.split(separator: ".")
    return labels.allSatisfy(Script.isOneWriting) ? text : form
  }

  /// Returns an address whose domain is in the form that people read.
  package static func shown(inAddress address: String) -> String {
    guard let at = address.utf8.lastIndex(of: UInt8(ascii: "@")) else { return address }
    let start = address.utf8.index(after: at)
    return address[..<start] + shown(String(address[start...]))
  }

  /// Returns the Unicode form of an ASCII form; the form itself without one.
  package static func unicode(ofASCII form: String) -> String { decoded(form) ?? form }

  /// Returns whether a domain is ASCII without an encoded label.
  ///
  /// Its only other spellings are in other letter case.
  package static func isPlain(_ domain: some StringProtocol) -> Bool {
    let encoded = ".xn--".utf8.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
    var window = UInt64(UInt8(ascii: "."))
    for byte in domain.utf8 {
      guard byte < 0x80 else { return false }
      let lower = UInt8(ascii: "A") <= byte && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
      window = (window << 8 | UInt64(lower)) & 0xff_ffff_ffff
      if window == encoded { return false }
    }
    return true
  }

  private static func encoded(_ domain: String) -> String? {
    unsafe converted(domain) {
      unsafe idn2_to_ascii_8z($0, $1, Int32(IDN2_NONTRANSITIONAL.rawValue))
    }
  }

  private static func decoded(_ domain: String) -> String? {
    unsafe converted(domain) { unsafe idn2_to_unicode_8z8z($0, $1, 0) }
  }

  private static func converted(
    _ domain: String,
    _ convert: (UnsafePointer<CChar>, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
  ) -> String? {
    // The library reads up to the first NUL.
    guard !domain.isEmpty, domain.utf8.count <= limit, !domain.utf8.contains(0) else { return nil }
    var result: UnsafeMutablePointer<CChar>?
    let status = unsafe domain.withCString { unsafe convert($0, &result) }
    defer { unsafe idn2_free(result) }
    guard status == IDN2_OK.rawValue, let text = unsafe result else { return nil }
    return unsafe String(validatingCString: text)
  }
}
