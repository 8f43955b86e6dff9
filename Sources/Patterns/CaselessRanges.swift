import Encoding

/// The ranges in a pattern that ignores case.
///
/// PCRE2 looks up each character of such a range as it compiles. A range of all characters takes
/// 6.6 ms, and a pattern has room for hundreds.
enum CaselessRanges {
  /// The maximum sum of the last characters of all ranges, which takes half a millisecond.
  private static let limit: UInt32 = 65_536

  /// Returns whether a pattern may set the option `i` itself, as `(?i)` or `(?s-i:a)` does.
  static func canIgnoreCase(_ source: String) -> Bool {
    var rest = Array(source.utf8)[...]
    while let start = rest.firstIndex(of: UInt8(ascii: "?")) {
      rest = rest[(start + 1)...]
      let isLetter = { (byte: UInt8) in
        byte == UInt8(ascii: "-") || byte == UInt8(ascii: "^")
          || (0x61...0x7a).contains(byte | 0x20)
      }
      if rest.prefix(while: isLetter).contains(UInt8(ascii: "i")) { return true }
    }
    return false
  }

  /// Returns whether all ranges together are small enough to compile.
  ///
  /// Each hyphen counts as a range, and each range as one that begins at U+0000.
  static func areSmall(_ source: String) -> Bool {
    var sum: UInt32 = 0
    var rest = Array(source.unicodeScalars)[...]
    while let hyphen = rest.firstIndex(of: "-") {
      rest = rest[(hyphen + 1)...]
      sum += end(rest)
      guard sum <= limit else { return false }
    }
    return true
  }

  /// Returns the last character of the range whose rest is given, or a greater one.
  private static func end(_ rest: ArraySlice<Unicode.Scalar>) -> UInt32 {
    var rest = rest
    // PCRE2 ignores spaces, `\Q` and `\E` here.
    while let first = rest.first {
      let next = rest.dropFirst().first
      if first == "\\", next == "Q" || next == "E" {
        rest = rest.dropFirst(2)
      } else if first == " " || first == "\t" {
        rest = rest.dropFirst()
      } else {
        break
      }
    }
    guard let first = rest.popFirst() else { return 0 }
    guard first == "\\", let escape = rest.popFirst() else { return first.value }
    switch escape {
    case "x", "u":
      let isBraced = rest.first == "{"
      let digits = rest.dropFirst(isBraced ? 1 : 0).prefix(isBraced ? .max : escape == "u" ? 4 : 2)
        .lazy.map { UInt8(exactly: $0.value)?.hexadecimalValue }
      var value: UInt32 = 0
      for case let digit? in digits.prefix(while: { $0 != nil }) {
        value = min(value << 4 | UInt32(digit), limit + 1)
      }
      return value
    // A character by its name or in octal.
    case "N", "o": return limit + 1
    default: return escape.value
    }
  }
}
