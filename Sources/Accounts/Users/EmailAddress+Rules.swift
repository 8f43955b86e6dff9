package import Runtime
package import EventLoop
import DomainNames
import Outbound
import ReferenceData

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
