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
}
