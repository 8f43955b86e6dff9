/// The conversion of decimals from and to text.
extension Decimal128: CustomStringConvertible {
  /// Reads the text of `$numberDecimal`.
  ///
  /// Returns nil if it is malformed or cannot be represented exactly.
  package init?(_ text: String) {
    var rest = Array(text.utf8)[...]
    var isNegative = false
    if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
      isNegative = sign == UInt8(ascii: "-")
      rest = rest.dropFirst()
    }
    switch String(decoding: rest, as: UTF8.self).lowercased() {
    case "inf", "infinity":
      self.init(.infinity, isNegative: isNegative)
      return
    case "nan":
      self.init(.nan)
      return
    default: break
    }
    var digits: [UInt8] = []
    var exponent = 0
    var hasDigits = false
    var isFraction = false
    scan: while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        hasDigits = true
        if !digits.isEmpty || byte != UInt8(ascii: "0") { digits.append(byte - UInt8(ascii: "0")) }
        if isFraction { exponent -= 1 }
      case UInt8(ascii: ".") where !isFraction: isFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        // Eleven bytes are enough for every valid exponent.
        guard !rest.isEmpty, rest.count <= 11,
          let power = Int(String(decoding: rest, as: UTF8.self))
        else { return nil }
        exponent += power
        break scan
      default: return nil
      }
    }
    guard hasDigits else { return nil }
    // Trailing zeros are dropped if there are too many digits or the exponent is too small.
    while digits.last == 0,
      digits.count > Self.precision || exponent < Self.exponents.lowerBound
    {
      digits.removeLast()
      exponent += 1
    }
    if digits.isEmpty { exponent = max(exponent, Self.exponents.lowerBound) }
    guard digits.count <= Self.precision, exponent >= Self.exponents.lowerBound else { return nil }
    self.init(isNegative: isNegative, digits: digits, exponent: exponent)
    guard kind == .finite else { return nil }
  }

  package var description: String {
    switch kind {
    case .nan: return "NaN"
    case .infinity: return isNegative ? "-Infinity" : "Infinity"
    case .finite: break
    }
    let sign = isNegative ? "-" : ""
    let text = digits.isEmpty ? "0" : String(decoding: digits.map { $0 + 48 }, as: UTF8.self)
    let leading = exponent + text.utf8.count - 1
    if exponent > 0 || leading < -6 {
      let fraction = text.dropFirst()
      let point = fraction.isEmpty ? "" : "."
      return "\(sign)\(text.prefix(1))\(point)\(fraction)E\(leading < 0 ? "" : "+")\(leading)"
    }
    if exponent == 0 { return sign + text }
    let whole = text.utf8.count + exponent
    if whole > 0 { return "\(sign)\(text.prefix(whole)).\(text.dropFirst(whole))" }
    return sign + "0." + String(repeating: "0", count: -whole) + text
  }

  /// The value without its fraction.
  ///
  /// Nil if it does not fit 64 bits.
  var truncated: Int64? {
    guard kind == .finite else { return nil }
    guard magnitude > 0 else { return 0 }
    guard magnitude <= 19 else { return nil }
    let zeros = [UInt8](repeating: 0, count: max(exponent, 0))
    let value = (digits + zeros).prefix(magnitude).reduce(Int128(0)) { $0 * 10 + Int128($1) }
    return Int64(exactly: isNegative ? -value : value)
  }

  /// The nearest double.
  var double: Double {
    switch kind {
    case .nan: .nan
    case .infinity: isNegative ? -.infinity : .infinity
    // Numbers past the range of doubles become infinity or zero.
    case .finite: Double(description) ?? (exponent > 0 ? (isNegative ? -1 : 1) * .infinity : 0)
    }
  }
}
