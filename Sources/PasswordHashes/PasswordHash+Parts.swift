import Encoding

/// Parameters of the form `name=number`, separated by commas.
struct Parameters {
  private var values: [Substring: Int] = [:]

  /// Parses parameters.
  ///
  /// Returns nil if a part has another form or another name, or a name occurs twice.
  init?(_ text: Substring, names: Set<Substring>) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let sign = part.firstIndex(of: "=") else { return nil }
      let digits = part[part.index(after: sign)...]
      guard names.contains(part[..<sign]), !digits.isEmpty, digits.utf8.count < 10,
        digits.utf8.first != UInt8(ascii: "0"),
        digits.utf8.allSatisfy(\.isDigit),
        let value = Int(digits), values.updateValue(value, forKey: part[..<sign]) == nil
      else { return nil }
    }
  }

  subscript(_ name: Substring) -> Int? { values[name] }
}

extension [UInt8] {
  /// Reads the base64 of password hashes: without padding, and with `.` for `+` as passlib writes
  /// it.
  init?(hashed text: Substring) {
    self.init(base64: text.utf8.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: "+") : $0 })
  }
}

extension StringProtocol {
  /// Whether there are digits, and nothing else.
  var isDigits: Bool { !isEmpty && utf8.allSatisfy(\.isDigit) }

  /// Returns the text with the bits of its last crypt(3) digit that a mask has.
  ///
  /// The digits are those of bcrypt, whose first bits are the highest.
  func maskingLastDigit(_ mask: Int) -> String {
    let digits = Array("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)
    guard let last = Substring(self).utf8.last, let value = digits.firstIndex(of: last) else {
      return String(self)
    }
    return String(dropLast()) + String(UnicodeScalar(digits[value & mask]))
  }
}

extension UInt8 {
  /// Whether crypt(3) uses the byte as a digit: a letter, a digit, a dot or a slash.
  var isCryptDigit: Bool {
    isLetterOrDigit || self == UInt8(ascii: ".") || self == UInt8(ascii: "/")
  }
}
