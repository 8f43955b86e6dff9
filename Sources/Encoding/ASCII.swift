extension UInt8 {
  /// Whether it is one of `0` to `9`.
  package var isDigit: Bool { UInt8(ascii: "0") <= self && self <= UInt8(ascii: "9") }

  /// Whether it is a digit or a letter from A to Z in either case.
  package var isLetterOrDigit: Bool {
    // The bit that distinguishes the cases of a letter.
    let lower = self | 0x20
    return isDigit || UInt8(ascii: "a") <= lower && lower <= UInt8(ascii: "z")
  }
}
