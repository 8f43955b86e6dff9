// Inlinable, as what is generic takes four times as long where it is not made for its types.

extension UInt8 {
  /// The value of an ASCII hexadecimal digit of either case; nil of anything else.
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
  /// Reads pairs of digits, in either case; nil for anything else.
  @inlinable package init?(hexadecimal digits: some Collection<UInt8>) {
    self = []
    reserveCapacity(digits.count / 2)
    var high: UInt8?
    for digit in digits {
      guard let value = digit.hexadecimalValue else { return nil }
      if let first = high {
        append(first << 4 | value)
        high = nil
      } else {
        high = value
      }
    }
    if high != nil { return nil }
  }
}

extension [UInt8] {
  /// Appends the two digits of a byte.
  @inlinable package mutating func append(hexadecimal byte: UInt8, inUpperCase: Bool = false) {
    append((byte >> 4).hexadecimalDigit(inUpperCase))
    append((byte & 15).hexadecimalDigit(inUpperCase))
  }
}

extension UInt8 {
  @inlinable func hexadecimalDigit(_ isUpperCase: Bool) -> UInt8 {
    self < 10
      ? UInt8(ascii: "0") + self : UInt8(ascii: isUpperCase ? "A" : "a") + self - 10
  }
}

extension String {
  /// Two digits a byte, in lower case.
  @inlinable package init(hexadecimal bytes: some Sequence<UInt8>) {
    var text: [UInt8] = []
    for byte in bytes { text.append(hexadecimal: byte) }
    self = String(decoding: text, as: UTF8.self)
  }
}
