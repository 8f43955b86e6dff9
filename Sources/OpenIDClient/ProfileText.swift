import Encoding
import JSON

/// The texts of a profile that are kept; each function returns nil for any other.
enum ProfileText {
  /// The greatest lengths of a whole name and of a part of one, in characters as users may set them.
  static let (nameLimit, partLimit) = (300, 150)

  static func name(_ text: String, _ limit: Int) -> String? {
    guard text.utf8.count <= 4 * limit, text.unicodeScalars.count <= limit,
      !text.hasControlCharacters, !text.unicodeScalars.contains(where: \.turnsText),
      !text.unicodeScalars.allSatisfy(\.isInvisible)
    else { return nil }
    return text
  }

  static func email(_ text: String) -> String? {
    let parts = text.utf8.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
    guard (3...254).contains(text.utf8.count), parts.count == 2, !parts.contains(where: \.isEmpty),
      !text.hasControlCharacters, !text.utf8.contains(UInt8(ascii: " "))
    else { return nil }
    return text
  }

  /// Returns the part of an address after the last `@`.
  static func domain(ofEmail email: String) -> String? {
    guard let at = email.utf8.lastIndex(of: UInt8(ascii: "@")) else { return nil }
    return String(email[email.utf8.index(after: at)...])
  }

  static func domain(_ text: String) -> String? {
    (1...253).contains(text.utf8.count) && text.utf8.allSatisfy(\.isVisible) ? text : nil
  }

  /// Returns a URL that apps may write into a page: it has only characters of URLs.
  ///
  /// - Source: RFC 3986 section 2.
  static func pictureURL(_ text: String) -> String? {
    guard EndpointURL.fault(in: text, allowingPlainHTTP: false) == nil,
      !text.utf8.contains(where: "\"<>\\^`{|}".utf8.contains)
    else { return nil }
    return text
  }

  /// Returns a language tag; some issuers write `en_US`.
  static func locale(_ text: String) -> String? {
    let tag = String(
      decoding: text.utf8.map { $0 == UInt8(ascii: "_") ? UInt8(ascii: "-") : $0 }, as: UTF8.self)
    guard (2...35).contains(tag.utf8.count),
      tag.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "-") })
    else { return nil }
    return tag
  }

  static func isSubject(_ text: String) -> Bool {
    (1...255).contains(text.utf8.count) && !text.hasControlCharacters
  }

  /// Returns a text, or the digits of a whole number.
  static func digitsOrText(_ value: JSON) -> String? {
    if let text = value.string { return text }
    guard let number = value.number?.text, number.utf8.allSatisfy(\.isDigit) else { return nil }
    return number
  }

  /// Whether a claim is true, in any of the notations of issuers.
  static func isTrue(_ value: JSON) -> Bool {
    value == true || value == "true" || value == 1 || value == "1"
  }
}
