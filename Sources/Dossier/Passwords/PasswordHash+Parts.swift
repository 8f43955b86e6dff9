import FoundationEssentials

/// `name=number` parted by commas.
struct Parameters {
  private var values: [Substring: Int] = [:]

  /// Nil when a part is not of the form, or a name comes twice.
  init?(_ text: Substring) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let sign = part.firstIndex(of: "=") else { return nil }
      let digits = part[part.index(after: sign)...]
      guard !digits.isEmpty, digits.utf8.count < 10, digits.utf8.first != UInt8(ascii: "0"),
        digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
        let value = Int(digits), values.updateValue(value, forKey: part[..<sign]) == nil
      else { return nil }
    }
  }

  subscript(_ name: Substring) -> Int? { values[name] }
}

/// Base 64 as hashes have it: without padding, and with `.` for `+` where passlib wrote it.
enum Base64 {
  /// Nil when a character is none, or bits are left over that are not zero.
  static func bytes(_ text: Substring) -> [UInt8]? {
    guard text.utf8.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    var (bits, count) = (0, 0)
    for digit in text.utf8 {
      guard let value = value(of: digit) else { return nil }
      bits = bits << 6 | value
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(bits >> count))
        bits &= 1 << count - 1
      }
    }
    return bits == 0 ? bytes : nil
  }

  static func text(_ bytes: [UInt8]) -> String {
    String(Data(bytes).base64EncodedString().prefix { $0 != "=" })
  }

  private static func value(of digit: UInt8) -> Int? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): Int(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): Int(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "+"), UInt8(ascii: "."): 62
    case UInt8(ascii: "/"): 63
    default: nil
    }
  }
}

extension UInt8 {
  /// Whether crypt(3) writes it: a letter, a digit, a dot or a slash.
  var isCryptDigit: Bool {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "."), UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }
}
