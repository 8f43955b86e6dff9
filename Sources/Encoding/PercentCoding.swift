/// Percent-encoding of a path segment or a query value.
///
/// - Source: RFC 3986 section 2.1.
package enum PercentCoding {
  /// Decodes a segment.
  ///
  /// Returns nil if a percent sign lacks its two hex digits. Returns nil also for NUL and invalid
  /// UTF-8.
  package static func decode(_ segment: Substring) -> String? {
    guard !segment.utf8.contains(0) else { return nil }
    guard segment.utf8.contains(UInt8(ascii: "%")) else { return String(segment) }
    var bytes: [UInt8] = []
    var rest = segment.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst()?.hexadecimalValue,
        let low = rest.popFirst()?.hexadecimalValue
      else { return nil }
      bytes.append(high << 4 | low)
    }
    guard !bytes.contains(0) else { return nil }
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
