/// A number with its spelling: `2.0` stays `2.0`.
///
/// Two numbers are equal if they have the same value, regardless of spelling.
package struct JSONNumber: Sendable, Equatable {
  package let text: String

  /// Creates a number from valid JSON text.
  package init(_ text: String) { self.text = text }

  package init(_ value: Int) { text = String(value) }

  package var int: Int? { Int(text) }

  package var double: Double? { Double(text) }

  package static func == (first: JSONNumber, second: JSONNumber) -> Bool {
    first.text.hasSameBytes(as: second.text) || Decimal(first.text) == Decimal(second.text)
  }

  /// The unique spelling of the value: digits without zeros at either end, and a power of ten.
  package var canonicalText: String {
    if var digits = int, digits != 0 {
      var exponent = 0
      while digits.isMultiple(of: 10) {
        digits /= 10
        exponent += 1
      }
      return "\(digits)e\(exponent)"
    }
    let decimal = Decimal(text)
    let sign = decimal.isNegative ? "-" : ""
    return sign + String(decoding: decimal.digits, as: UTF8.self) + "e\(decimal.exponent)"
  }

  package var isInteger: Bool { int != nil || Decimal(text).exponent >= 0 }

  /// The number of digits without zeros at either end.
  package var significantDigits: Int { Decimal(text).digits.count }

  /// Returns whether the number is exactly a whole multiple of the divisor.
  ///
  /// - Parameter divisor: above 0, with at most 37 significant digits, the most that a remainder
  ///   can have.
  /// - Returns: true for 0.
  package func isMultiple(of divisor: JSONNumber) -> Bool {
    if let value = int, let unit = divisor.int { return value.isMultiple(of: unit) }
    let (value, unit) = (Decimal(text), Decimal(divisor.text))
    guard !value.digits.isEmpty else { return true }
    // The value's last digit is not zero, and lies below the last place of the divisor.
    guard value.exponent >= unit.exponent else { return false }
    let modulus = unit.digits.reduce(UInt128(0)) { $0 * 10 + UInt128($1 & 15) }
    var remainder = value.digits.reduce(UInt128(0)) { ($0 * 10 + UInt128($1 & 15)) % modulus }
    for _ in unit.exponent..<value.exponent {
      if remainder == 0 { break }
      remainder = remainder * 10 % modulus
    }
    return remainder == 0
  }
}

extension JSONNumber: Comparable {
  /// Compares by value.
  package static func < (first: JSONNumber, second: JSONNumber) -> Bool {
    if let first = first.int, let second = second.int { return first < second }
    return Decimal(first.text) < Decimal(second.text)
  }
}

/// The exact value of a number: its significant digits and the power of ten of the last.
struct Decimal: Equatable {
  private(set) var isNegative = false
  private(set) var digits: [UInt8] = []
  private(set) var exponent = 0
  /// The length in PostgreSQL's format: without an exponent, with zeros at the end.
  private(set) var writtenLength = 0

  init(_ text: some StringProtocol) { self.init(Array(text.utf8)[...]) }

  init(_ text: ArraySlice<UInt8>) {
    var isFraction = false
    var rest = text
    if rest.first == UInt8(ascii: "-") {
      isNegative = true
      rest = rest.dropFirst()
    }
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        exponent += Self.exponent(rest)
        rest = rest.dropFirst(rest.count)
      default:
        if !digits.isEmpty || byte != UInt8(ascii: "0") { digits.append(byte) }
        if isFraction { exponent -= 1 }
      }
    }
    let behindPoint = max(-exponent, 0)
    writtenLength =
      (isNegative ? 1 : 0) + max(digits.isEmpty ? 1 : digits.count + exponent, 1)
      + (behindPoint > 0 ? 1 + behindPoint : 0)
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      exponent += 1
    }
    if digits.isEmpty {
      isNegative = false
      exponent = 0
    }
  }

  /// Returns the power of ten after an `e`, clamped beyond all limits.
  ///
  /// So its sum with the count of digits cannot overflow.
  static func exponent(_ text: ArraySlice<UInt8>) -> Int {
    let bound = 1 << 40
    guard let written = Int(String(decoding: text, as: UTF8.self)) else {
      return text.first == UInt8(ascii: "-") ? -bound : bound
    }
    return min(max(written, -bound), bound)
  }

  /// Compares by value, however long the spellings are.
  static func == (first: Decimal, second: Decimal) -> Bool {
    first.isNegative == second.isNegative && first.exponent == second.exponent
      && first.digits == second.digits
  }

  static func < (first: Decimal, second: Decimal) -> Bool {
    guard first.sign == second.sign else { return first.sign < second.sign }
    return first.isNegative
      ? second.isCloserToZero(than: first) : first.isCloserToZero(than: second)
  }

  private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

  /// Returns whether this is the smaller magnitude; both numbers have the same sign.
  private func isCloserToZero(than other: Decimal) -> Bool {
    guard magnitude == other.magnitude else { return magnitude < other.magnitude }
    return digits.lexicographicallyPrecedes(other.digits)
  }

  /// The power of ten of the first digit; 0 for zero.
  var magnitude: Int { digits.isEmpty ? 0 : exponent + digits.count - 1 }
}
