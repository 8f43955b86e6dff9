package import Runtime
package import EventLoop
import Outbound
import ReferenceData

extension EmailAddress {
  /// 254: the longest path of SMTP (RFC 5321 section 4.5.3.1.3) without its brackets.
  private static let limit = 254

  /// Checks whether a user may have an address.
  ///
  /// It also refuses text that looks like another address: readers could not tell the two apart.
  /// - Parameters:
  ///   - text: the address.
  ///   - pointer: the pointer of the member with the address.
  ///   - isMixed: whether the app allows addresses that mix scripts.
  /// - Returns: the fault of the address; nil if mail may reach it.
  package static func fault(in text: String, at pointer: String, mixed isMixed: Bool) -> FieldError?
  {
    let parts = text.unicodeScalars.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, text.utf8.count <= limit, !parts[0].isEmpty,
      text.unicodeScalars.allSatisfy({
        !$0.properties.isWhitespace && $0 != "<" && $0 != ">" && $0 != "," && $0 != "\""
      })
    else { return FieldError(pointer, "email", "This is not an email address.") }
    guard text.unicodeScalars.allSatisfy(isShown) else {
      let rule =
        "An email address must not contain invisible characters or characters that change the direction of text."
      return FieldError(pointer, "email", rule)
    }
    let labels = parts[1].split(separator: ".", omittingEmptySubsequences: false)
    guard isLocalPart(parts[0]), isMailDomain(labels) else {
      let rule =
        "No mail reaches this address. The part after the @ must be a domain of the internet, such as "
        + "example.com; the part before it may have at most 64 bytes, and single dots inside it."
      return FieldError(pointer, "email", rule)
    }
    guard isMixed || Script.isOneWriting(parts[0]) && labels.allSatisfy(Script.isOneWriting) else {
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
  @EventLoop package static func check(
    _ text: String,
    _ context: RequestContext
  ) throws(Failure) {
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

  /// Returns whether the local part is a `Dot-string`, also beyond ASCII, within the limit of mail.
  ///
  /// - Source: RFC 5321 sections 4.1.2 and 4.5.3.1.1, RFC 6531 section 3.3.
  private static func isLocalPart(_ part: Substring.UnicodeScalarView) -> Bool {
    let ascii = part.map { $0.isASCII ? UInt8(ascii: $0) : UInt8(ascii: "x") }
    return MailAddress.isDotString(ascii) && String(part).utf8.count <= 64
  }

  /// Top-level names, in the DNS or reserved, without mail servers on the internet.
  ///
  /// `test` and `example` have no mail servers either, but are accepted, as they serve tests and
  /// documentation.
  /// - Source: RFC 6761 sections 6.3 and 6.4, RFC 6762, RFC 7686, RFC 9476, RFC 3172.
  private static let unreachable: Set<String> = [
    "localhost", "invalid", "local", "onion", "alt", "arpa",
  ]

  /// Returns whether labels form an internet domain that may have a mail server.
  ///
  /// Address literals, numbers and names without a dot do not.
  private static func isMailDomain(_ labels: [Substring.UnicodeScalarView]) -> Bool {
    guard labels.count > 1, labels.allSatisfy(isLabel), let last = labels.last else { return false }
    return !last.allSatisfy { $0.properties.numericType != nil }
      && !unreachable.contains(String(last).lowercased())
  }

  /// Returns whether a label has only letters, digits and inner hyphens, also beyond ASCII.
  ///
  /// - Source: RFC 1123 section 2.1, RFC 5890 section 2.3.2.
  private static func isLabel(_ label: Substring.UnicodeScalarView) -> Bool {
    (1...63).contains(String(label).utf8.count) && label.first != "-" && label.last != "-"
      && label.allSatisfy { $0 == "-" || isLetterOrDigit($0) }
  }

  /// Returns whether a domain name may have this character: a letter, mark or digit.
  ///
  /// Compatibility forms, such as full-width letters, are rejected, since they would hide the real
  /// name.
  private static func isLetterOrDigit(_ character: Unicode.Scalar) -> Bool {
    switch character.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .otherLetter, .modifierLetter, .nonspacingMark,
      .spacingMark, .decimalNumber:
      character.isASCII || character == "ß" || character == "ς"
        || character.properties.lowercaseMapping.unicodeScalars.allSatisfy {
          !$0.properties.changesWhenNFKCCaseFolded
        }
    default: false
    }
  }
}
