extension UInt8 {
  /// Whether it is a character of ASCII that is neither a space nor a control character.
  package var isVisible: Bool { 0x20 < self && self < 0x7f }

  /// Whether it is one of `0` to `9`.
  @inlinable package var isDigit: Bool { UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") }

  /// Whether it is one of `A` to `Z`.
  package var isUpperCase: Bool { UInt8(ascii: "A") <= self && self <= UInt8(ascii: "Z") }

  /// Whether it is a digit or a letter from A to Z in either case.
  @inlinable package var isLetterOrDigit: Bool {
    // The bit that distinguishes the cases of a letter.
    let lower = self | 0x20
    return isDigit || UInt8(ascii: "a") <= lower && lower <= UInt8(ascii: "z")
  }
}

extension String {
  /// Writes a number with zeros in front, up to the given number of digits.
  ///
  /// A longer number has all its digits.
  package init(_ number: some BinaryInteger, digits: Int, radix: Int = 10) {
    let plain = String(number, radix: radix)
    self = String(repeating: "0", count: Swift.max(0, digits - plain.utf8.count)) + plain
  }

  /// A code as people type it, without the spaces and hyphens that do not count.
  package var withoutSpacesAndHyphens: String { filter { $0 != " " && $0 != "-" } }
}

extension StringProtocol {
  /// Whether the text has control characters, such as the end of a line.
  package var hasControlCharacters: Bool {
    unicodeScalars.contains { $0.properties.generalCategory == .control }
  }
}

extension String {
  /// Returns the text, or its first bytes and an ellipsis.
  ///
  /// Responses quote client input only up to this length. So no input makes a response much longer
  /// than usual.
  package func excerpt(_ bytes: Int) -> String {
    guard utf8.count > bytes else { return self }
    var end = utf8.index(utf8.startIndex, offsetBy: bytes)
    while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
    return String(self[..<end]) + "\u{2026}"
  }
}
