import FoundationEssentials

/// An alphabet of base64, for texts without padding.
///
/// Each byte sequence has exactly one text, since the unused bits of the last digit must be zero.
private struct Base64Alphabet: Sendable {
  private let digits: StaticString
  /// The value of each byte as a digit, or 255 for other bytes.
  private let values: [UInt8]

  /// The standard alphabet.
  ///
  /// - Source: RFC 4648 section 4.
  static let standard = Base64Alphabet(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  )
  /// The URL-safe alphabet.
  ///
  /// - Source: RFC 4648 section 5.
  static let url = Base64Alphabet(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  )

  private init(_ digits: StaticString) {
    self.digits = digits
    var values = [UInt8](repeating: 255, count: 256)
    for value in 0..<64 { values[Int(digits.utf8Start[value])] = UInt8(value) }
    self.values = values
  }

  /// Returns the number of digits for a number of bytes.
  static func length(for count: Int) -> Int { count / 3 * 4 + (count % 3 * 4 + 2) / 3 }

  func text(of bytes: [UInt8]) -> String {
    let length = Self.length(for: bytes.count)
    return String(unsafeUninitializedCapacity: length) { text in
      write(bytes, to: text)
      return length
    }
  }

  /// Writes the digits of bytes to a buffer of the right length.
  func write(_ bytes: [UInt8], to text: UnsafeMutableBufferPointer<UInt8>) {
    let digits = digits.utf8Start
    bytes.withUnsafeBufferPointer { bytes in
      var place = 0
      for index in stride(from: 0, to: bytes.count - 2, by: 3) {
        let bits = Int(bytes[index]) << 16 | Int(bytes[index + 1]) << 8 | Int(bytes[index + 2])
        text[place] = digits[bits >> 18]
        text[place + 1] = digits[bits >> 12 & 63]
        text[place + 2] = digits[bits >> 6 & 63]
        text[place + 3] = digits[bits & 63]
        place += 4
      }
      let rest = bytes.count % 3
      guard rest > 0 else { return }
      let last = Int(bytes[bytes.count - 1])
      let bits = rest == 1 ? last << 16 : Int(bytes[bytes.count - 2]) << 16 | last << 8
      text[place] = digits[bits >> 18]
      text[place + 1] = digits[bits >> 12 & 63]
      if rest == 2 { text[place + 2] = digits[bits >> 6 & 63] }
    }
  }

  /// Returns the bytes, or nil if `text(of:)` would not produce the text.
  func bytes(of text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    let rest = text.count % 4
    guard rest != 1 else { return nil }
    let whole = text.count - rest
    // The value 255 sets the two high bits. Unused bits that are not zero are shifted there.
    var faults: UInt8 = 0
    let bytes = values.withUnsafeBufferPointer { values in
      [UInt8](unsafeUninitializedCapacity: whole / 4 * 3 + rest / 2 + rest / 3) { bytes, count in
        for index in stride(from: 0, to: whole, by: 4) {
          let first = values[Int(text[index])]
          let second = values[Int(text[index + 1])]
          let third = values[Int(text[index + 2])]
          let fourth = values[Int(text[index + 3])]
          faults |= first | second | third | fourth
          bytes[count] = first << 2 | second >> 4
          bytes[count + 1] = second << 4 | third >> 2
          bytes[count + 2] = third << 6 | fourth
          count += 3
        }
        guard rest > 0 else { return }
        let first = values[Int(text[whole])]
        let second = values[Int(text[whole + 1])]
        let third = rest == 3 ? values[Int(text[whole + 2])] : 0
        faults |= first | second | third
        faults |= rest == 2 ? second << 4 | second << 6 : third << 6
        bytes[count] = first << 2 | second >> 4
        count += 1
        if rest == 3 {
          bytes[count] = second << 4 | third >> 2
          count += 1
        }
      }
    }
    return faults & 0xc0 == 0 ? bytes : nil
  }
}

extension [UInt8] {
  /// The bytes in URL-safe base64, without padding.
  ///
  /// - Source: RFC 4648 section 5.
  package var base64URL: String { Base64Alphabet.url.text(of: self) }

  /// Appends the digits of `base64URL`.
  package mutating func append(base64URL bytes: [UInt8]) {
    let start = count
    append(contentsOf: repeatElement(0, count: Base64Alphabet.length(for: bytes.count)))
    withUnsafeMutableBufferPointer {
      Base64Alphabet.url.write(bytes, to: UnsafeMutableBufferPointer(rebasing: $0[start...]))
    }
  }

  /// Reads URL-safe base64.
  ///
  /// Returns nil if `base64URL` would not produce the text.
  package init?(base64URL text: some StringProtocol) {
    let read = Base64Alphabet.url.bytes
    let bytes =
      text.utf8.withContiguousStorageIfAvailable(read)
      ?? Array(text.utf8)
      .withUnsafeBufferPointer(read)
    guard let bytes else { return nil }
    self = bytes
  }

  /// The bytes in base64, without padding.
  ///
  /// - Source: RFC 4648 section 4.
  package var base64: String { Base64Alphabet.standard.text(of: self) }

  /// Reads base64.
  ///
  /// Returns nil if `base64` would not produce the text.
  package init?(base64 digits: [UInt8]) {
    guard let bytes = digits.withUnsafeBufferPointer(Base64Alphabet.standard.bytes) else {
      return nil
    }
    self = bytes
  }
}

// With padding. The reader accepts the forms of other writers too.

extension [UInt8] {
  /// The bytes in base64, with padding.
  ///
  /// - Source: RFC 4648 section 4.
  package var paddedBase64: String { Data(self).base64EncodedString() }

  package init?(paddedBase64 text: String) {
    guard let data = Data(base64Encoded: text) else { return nil }
    self = [UInt8](data)
  }
}
