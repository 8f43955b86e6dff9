/// Percent-encoding of a path segment or a query value.
///
/// - Source: RFC 3986 section 2.1.
package enum PercentCoding {
  /// Decodes a segment.
  ///
  /// Returns nil if a percent sign lacks its two hex digits. Returns nil also for NUL and invalid
  /// UTF-8.
  package static func decode(_ segment: Substring) -> String? {
    guard segment.utf8.contains(UInt8(ascii: "%")) || segment.utf8.contains(0) else {
      return String(segment)
    }
    return decode(segment.utf8.span, plusIsSpace: false)
  }

  /// Decodes bytes as `decode` does; a form has a plus sign for each space.
  package static func decode(_ text: Span<UInt8>, plusIsSpace: Bool) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      var byte = text[index]
      if plusIsSpace, byte == UInt8(ascii: "+") {
        byte = UInt8(ascii: " ")
      } else if byte == UInt8(ascii: "%") {
        guard index + 2 < text.count, let high = text[index + 1].hexadecimalValue,
          let low = text[index + 2].hexadecimalValue
        else { return nil }
        byte = high << 4 | low
        index += 2
      }
      guard byte != 0 else { return nil }
      bytes.append(byte)
      index += 1
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Encodes all characters except letters, digits and `-._~`.
  package static func encode(_ text: some StringProtocol) -> String {
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case _ where byte.isLetterOrDigit || "-._~".utf8.contains(byte): bytes.append(byte)
      default:
        bytes.append(UInt8(ascii: "%"))
        bytes.append(hexadecimal: byte, inUpperCase: true)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
