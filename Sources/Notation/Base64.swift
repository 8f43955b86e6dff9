import FoundationEssentials

// First both alphabets without padding. Foundation codes; what it passes over (padding that need not
// be, line ends, bits behind the last byte) is refused here, so that no two texts are the same bytes.

extension [UInt8] {
  /// - Source: RFC 4648 section 5.
  package var base64URL: String {
    var digits = Self.base64(of: self)
    for index in digits.indices {
      switch digits[index] {
      case UInt8(ascii: "+"): digits[index] = UInt8(ascii: "-")
      case UInt8(ascii: "/"): digits[index] = UInt8(ascii: "_")
      default: break
      }
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Nil unless it is what `base64URL` makes of some bytes.
  package init?(base64URL text: some StringProtocol) {
    var isOther = false
    // An array first: to go through a text of any type takes several times as long.
    var digits = [UInt8](text.utf8)
    for index in digits.indices {
      switch digits[index] {
      case UInt8(ascii: "-"): digits[index] = UInt8(ascii: "+")
      case UInt8(ascii: "_"): digits[index] = UInt8(ascii: "/")
      default: isOther = isOther || !digits[index].isLetterOrDigit
      }
    }
    guard !isOther else { return nil }
    self.init(base64: digits)
  }

  /// - Source: RFC 4648 section 4.
  package var base64: String { String(decoding: Self.base64(of: self), as: UTF8.self) }

  /// Nil unless it is what `base64` makes of some bytes.
  package init?(base64 digits: [UInt8]) {
    let padding = [UInt8](repeating: UInt8(ascii: "="), count: -digits.count & 3)
    guard let bytes = Data(base64Encoded: Data(digits + padding)).map({ [UInt8]($0) }),
      Self.base64(of: bytes).elementsEqual(digits)
    else { return nil }
    self = bytes
  }

  // Without padding; as an array, as to go through `Data` byte by byte took much of a refresh.
  private static func base64(of bytes: [UInt8]) -> ArraySlice<UInt8> {
    [UInt8](Data(bytes).base64EncodedData()).prefix((bytes.count * 4 + 2) / 3)
  }
}

// With padding, and read as others write it.

extension [UInt8] {
  /// - Source: RFC 4648 section 4.
  package var paddedBase64: String { Data(self).base64EncodedString() }

  package init?(paddedBase64 text: String) {
    guard let data = Data(base64Encoded: text) else { return nil }
    self = [UInt8](data)
  }
}
