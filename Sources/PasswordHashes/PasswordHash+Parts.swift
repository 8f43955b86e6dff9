import Encoding

/// Parameters of the form `name=number`, separated by commas.
struct Parameters {
  private var values: [Substring: Int] = [:]

  /// Parses parameters.
  ///
  /// Returns nil if a part has another form, or a name occurs twice.
  init?(_ text: Substring) {
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let sign = part.firstIndex(of: "=") else { return nil }
      let digits = part[part.index(after: sign)...]
      guard !digits.isEmpty, digits.utf8.count < 10, digits.utf8.first != UInt8(ascii: "0"),
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

extension UInt8 {
  /// Whether crypt(3) uses the byte as a digit: a letter, a digit, a dot or a slash.
  var isCryptDigit: Bool {
    isLetterOrDigit || self == UInt8(ascii: ".") || self == UInt8(ascii: "/")
  }
}
