// Inlinable, since unspecialized generic code is several times slower.

/// The hexadecimal digits and their values.
@usableFromInline enum HexadecimalDigits {
  @usableFromInline static let lower: StaticString = "0123456789abcdef"
  @usableFromInline static let upper: StaticString = "0123456789ABCDEF"
  /// The value of each byte as a digit of either case, or 255 for other bytes.
  @usableFromInline static let values: [UInt8] = (UInt8.min ... .max).map {
    $0.hexadecimalValue ?? 255
  }
}

extension UInt8 {
  /// The value of an ASCII hexadecimal digit of either case, or nil.
  @inlinable package var hexadecimalValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  package var isHexadecimalDigit: Bool { hexadecimalValue != nil }
}

extension [UInt8] {
  /// Reads pairs of digits in either case.
  ///
  /// Returns nil for anything else.
  @inlinable package init?(hexadecimal digits: some Collection<UInt8>) {
    let parsed = digits.withContiguousStorageIfAvailable { [UInt8](hexadecimalDigits: $0) }
    guard let bytes = parsed ?? Array(digits).withUnsafeBufferPointer(Self.init(hexadecimalDigits:))
    else { return nil }
    self = bytes
  }

  @usableFromInline init?(hexadecimalDigits digits: UnsafeBufferPointer<UInt8>) {
    guard digits.count.isMultiple(of: 2) else { return nil }
    var isDigits = true
    self.init(unsafeUninitializedCapacity: digits.count / 2) { bytes, count in
      HexadecimalDigits.values.withUnsafeBufferPointer { values in
        for index in 0..<digits.count / 2 {
          let high = values[Int(digits[2 * index])]
          let low = values[Int(digits[2 * index + 1])]
          // The value of any other byte has all high bits set.
          if (high | low) & 0xf0 != 0 { isDigits = false }
          bytes[index] = high << 4 | low & 15
        }
      }
      count = digits.count / 2
    }
    guard isDigits else { return nil }
  }
}

extension [UInt8] {
  /// Appends the two digits of a byte.
  @inlinable package mutating func append(hexadecimal byte: UInt8, inUpperCase: Bool = false) {
    let digits = inUpperCase ? HexadecimalDigits.upper : HexadecimalDigits.lower
    append(digits.utf8Start[Int(byte >> 4)])
    append(digits.utf8Start[Int(byte & 15)])
  }

  /// Appends the two digits of each byte, in lower case.
  package mutating func append(hexadecimal bytes: [UInt8]) {
    let start = count
    append(contentsOf: repeatElement(0, count: 2 * bytes.count))
    let digits = HexadecimalDigits.lower.utf8Start
    withUnsafeMutableBufferPointer { text in
      for index in bytes.indices {
        text[start + 2 * index] = digits[Int(bytes[index] >> 4)]
        text[start + 2 * index + 1] = digits[Int(bytes[index] & 15)]
      }
    }
  }
}

extension String {
  /// Writes each byte as two digits in lower case.
  @inlinable package init(hexadecimal bytes: some Sequence<UInt8>) {
    let text = bytes.withContiguousStorageIfAvailable { String(hexadecimalOf: $0) }
    self = text ?? Array(bytes).withUnsafeBufferPointer(Self.init(hexadecimalOf:))
  }

  @usableFromInline init(hexadecimalOf bytes: UnsafeBufferPointer<UInt8>) {
    let digits = HexadecimalDigits.lower.utf8Start
    self.init(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      for index in 0..<bytes.count {
        text[2 * index] = digits[Int(bytes[index] >> 4)]
        text[2 * index + 1] = digits[Int(bytes[index] & 15)]
      }
      return 2 * bytes.count
    }
  }
}
