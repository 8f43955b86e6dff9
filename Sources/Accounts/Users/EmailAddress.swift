package import Runtime
package import EventLoop
import DomainNames
package import Postgres

/// An email address as a client sent it.
package struct EmailAddress {
  /// The comparison key of the address: that of `email_key` in the database for the canonical form.
  ///
  /// Use no other folding. Otherwise two spellings could count separately that the database treats
  /// as equal.
  package let key: String

  package init(key: String) { self.key = key }

  /// Folds an address, with a query unless its canonical form is ASCII.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package init(_ text: String, _ context: RequestContext) async throws(Failure) {
    let text = Self.canonical(text)
    if let key = Self.asciiKey(text) {
      self.key = key
      return
    }
    let rows = try await context.read(EmailAddressQueries.key, text)
    key = try rows.first.orUnforeseen("the key of an address")
  }

  /// Returns the form of an address that is stored, and to which mail is sent.
  ///
  /// Its domain is in ASCII, as `xn--mnchen-3ya.de`. Full-width letters before the `@`, which input
  /// methods write, become ASCII. Each letter before the `@` keeps its case, as do those of a domain
  /// without `xn--`. Text without such a form stays as it is.
  package static func canonical(_ text: String) -> String {
    let bytes = text.utf8
    guard let at = bytes.lastIndex(of: UInt8(ascii: "@")) else { return text }
    var domain = text[bytes.index(after: at)...]
    let isPlain = DomainName.isPlain(domain)
    if isPlain, bytes[..<at].allSatisfy({ $0 < 0x80 }) { return text }
    while domain.utf8.last == UInt8(ascii: " ") { domain.removeLast() }
    guard let form = isPlain ? String(domain) : DomainName.ascii(String(domain)) else {
      return text
    }
    let local = text[..<at].unicodeScalars.map { scalar in
      (0xff01...0xff5e).contains(scalar.value)
        ? Character(Unicode.Scalar(UInt8(scalar.value - 0xfee0))) : Character(scalar)
    }
    return "\(String(local))@\(form)"
  }

  /// Returns the canonical form of a domain that a search looks for; the text itself without one.
  package static func canonicalDomain(_ text: String) -> String { DomainName.ascii(text) ?? text }

  /// Returns the key of an ASCII address; nil for other addresses.
  ///
  /// `email_key` in the database trims spaces, normalizes and lowercases.
  private static func asciiKey(_ text: String) -> String? {
    let space = UInt8(ascii: " ")
    var bytes = Array(text.utf8)
    while bytes.last == space { bytes.removeLast() }
    bytes.removeFirst(bytes.prefix { $0 == space }.count)
    for (index, byte) in bytes.enumerated() {
      guard byte < 0x80 else { return nil }
      if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) { bytes[index] = byte | 0x20 }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

package enum EmailAddressQueries {
  static let key = Statement<String, String>("email_addresses.key", "select email_key($1)")

  package static let all: [any PreparedStatement] = [key]
}
