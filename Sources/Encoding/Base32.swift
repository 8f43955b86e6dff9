extension [UInt8] {
  private static let base32Digits: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

  /// Returns the bytes in base32, without padding.
  ///
  /// - Source: RFC 4648 section 6.
  package var base32: String {
    let digits = Self.base32Digits.utf8Start
    var text: [UInt8] = []
    text.reserveCapacity((count * 8 + 4) / 5)
    // The bits not yet written: at most four before a byte is added.
    var bits = 0
    var length = 0
    for byte in self {
      bits = (bits << 8 | Int(byte)) & 0xfff
      length += 8
      while length >= 5 {
        length -= 5
        text.append(digits[bits >> length & 31])
      }
    }
    if length > 0 { text.append(digits[bits << (5 - length) & 31]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Reads base32 in either case, with or without padding.
  ///
  /// It ignores the unused bits of the last digit, which some programs fill.
  ///
  /// Returns nil for any other text.
  package init?(base32 text: String) {
    var digits = Array(text.utf8)
    while digits.last == UInt8(ascii: "=") { digits.removeLast() }
    // The other lengths hold no whole number of bytes.
    guard ![1, 3, 6].contains(digits.count % 8) else { return nil }
    self = []
    reserveCapacity(digits.count * 5 / 8)
    // The bits not yet written: at most seven before a digit is added.
    var bits = 0
    var length = 0
    for digit in digits {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - UInt8(ascii: "A")
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - UInt8(ascii: "a")
      case UInt8(ascii: "2")...UInt8(ascii: "7"): value = digit - UInt8(ascii: "2") + 26
      default: return nil
      }
      bits = (bits << 5 | Int(value)) & 0xfff
      length += 5
      if length >= 8 {
        length -= 8
        append(UInt8(truncatingIfNeeded: bits >> length))
      }
    }
  }
}
