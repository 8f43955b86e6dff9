extension UInt8 {
  /// Whether it is one of `0` to `9`.
  package var isDigit: Bool { UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") }

  /// Whether it is a letter from A to Z, of either case, or a digit.
  package var isLetterOrDigit: Bool {
    // The bit in which the cases of a letter differ.
    let lower = self | 0x20
    return isDigit || UInt8(ascii: "a") <= lower && lower <= UInt8(ascii: "z")
  }
}
