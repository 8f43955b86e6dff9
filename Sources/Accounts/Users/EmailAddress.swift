import DomainNames
package import EventLoop
import Outbound
import Postgres
import ReferenceData
package import Runtime

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
}

extension EmailAddress {
  /// 254: the longest path of SMTP (RFC 5321 section 4.5.3.1.3) without its brackets.
  private static let limit = 254

  /// Checks whether a user may have an address, and a mail can be sent to it.
  ///
  /// It also refuses text that looks like another address: readers could not tell the two apart.
  /// - Parameters:
  ///   - text: the address.
  ///   - pointer: the pointer of the member with the address.
  ///   - isMixed: whether the app allows domains that mix scripts.
  /// - Returns: the fault of the address; nil if mail may reach it.
  package static func fault(in text: String, at pointer: String, mixed isMixed: Bool) -> FieldError?
  {
    func fault(_ rule: String) -> FieldError { FieldError(pointer, "email", rule) }
    guard text.utf8.count <= limit,
      text.unicodeScalars.allSatisfy({
        !$0.properties.isWhitespace && $0 != "<" && $0 != ">" && $0 != "," && $0 != "\""
      })
    else { return fault("This is not an email address.") }
    guard text.unicodeScalars.allSatisfy(isShown) else {
      return fault(
        "An email address must not contain invisible characters or characters that change the direction of text."
      )
    }
    let parts = canonical(text).split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty else { return fault("This is not an email address.") }
    let (local, domain) = (parts[0].utf8, String(parts[1]))
    guard local.allSatisfy({ $0 < 0x80 }) else {
      return fault("No email can be sent to this address. The part before the @ must be ASCII.")
    }
    let labels = DomainName.unicode(ofASCII: domain).unicodeScalars
      .split(separator: ".", omittingEmptySubsequences: false)
    guard local.count <= 64, MailAddress.isDotString(local), isMailDomain(domain, labels) else {
      return fault(
        "No email reaches this address. The part after the @ must be a domain of the internet, such as "
          + "example.com; the part before it may have at most 64 bytes, and single dots inside it."
      )
    }
    guard isMixed || labels.allSatisfy(Script.isOneWriting) else {
      let rule =
        "This address mixes letters of several scripts, such as Latin and Cyrillic, which look alike. "
        + "Write it with the letters of one."
      return FieldError(pointer, "mixed_scripts", rule)
    }
    return nil
  }

  /// Checks an address for a mail or for a user.
  ///
  /// - Throws: `.invalid`, with the member `email`.
  @EventLoop package static func check(_ text: String, _ context: RequestContext) throws(Failure) {
    let isMixed = context.app.accountSettings.allowsMixedScripts
    if let fault = fault(in: text, at: "/email", mixed: isMixed) { throw .invalid([fault]) }
  }

  /// Returns whether a character is visible, and does not reorder those around it.
  ///
  /// - Source: Unicode Standard Annex #44, properties General_Category and
  ///   Default_Ignorable_Code_Point.
  private static func isShown(_ character: Unicode.Scalar) -> Bool {
    switch character.properties.generalCategory {
    case .control, .format, .privateUse, .surrogate: false
    default:
      !character.properties.isDefaultIgnorableCodePoint
        && !character.properties.isNoncharacterCodePoint
    }
  }

  /// Top-level names, in the DNS or reserved, without mail servers on the internet.
  ///
  /// `test` and `example` have no mail servers either, but are accepted, as they serve tests and
  /// documentation.
  /// - Source: RFC 6761 sections 6.3 and 6.4, RFC 6762, RFC 7686, RFC 9476, RFC 3172.
  private static let unreachable: Set<String> = [
    "localhost", "invalid", "local", "onion", "alt", "arpa",
  ]

  /// Returns whether an ASCII domain, whose Unicode form has these labels, may have a mail server.
  ///
  /// Address literals, numbers and names without a dot do not. Nor do labels with other characters
  /// than letters, digits and inner hyphens, also beyond ASCII.
  /// - Source: RFC 1123 section 2.1, RFC 5890 section 2.3.2.
  private static func isMailDomain(
    _ domain: String, _ labels: [Substring.UnicodeScalarView]
  ) -> Bool {
    guard MailAddress.fault(in: "a@\(domain)") == nil, DomainName.ascii(domain) != nil,
      labels.count > 1, let last = labels.last,
      labels.allSatisfy({ $0.allSatisfy { $0 == "-" || isLetterOrDigit($0) } })
    else { return false }
    return !last.allSatisfy { $0.properties.numericType != nil }
      && !unreachable.contains(String(last).lowercased())
  }

  /// Returns whether a domain name may have this character: a letter, mark or digit.
  private static func isLetterOrDigit(_ character: Unicode.Scalar) -> Bool {
    switch character.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark,
      .spacingMark, .decimalNumber:
      true
    default: false
    }
  }
}
