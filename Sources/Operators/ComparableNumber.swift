/// A non-negative integer of any size, for the comparison of a decimal with a double.
///
/// Multiplication by powers of two and five turns both into integers. Within the range of doubles
/// they have at most about 2,500 bits.
struct ComparableNumber {
  /// The words, least significant first.
  private var words: [UInt64]

  private init(_ value: UInt64) { words = [value] }

  private mutating func multiply(by factor: UInt64, adding addend: UInt64 = 0) {
    var carry = addend
    for position in words.indices {
      let (high, low) = words[position].multipliedFullWidth(by: factor)
      let (sum, overflow) = low.addingReportingOverflow(carry)
      words[position] = sum
      carry = high + (overflow ? 1 : 0)
    }
    if carry > 0 { words.append(carry) }
  }

  private mutating func multiply(byPowerOf base: UInt64, _ exponent: Int) {
    var rest = max(exponent, 0)
    while rest > 0 {
      // 5 to the power of 27 is the largest power that fits a word.
      let step = min(rest, 27)
      multiply(by: (0..<step).reduce(1) { power, _ in power * base })
      rest -= step
    }
  }

  private static func compare(_ first: ComparableNumber, _ second: ComparableNumber) -> Order {
    let first = first.words.reversed().drop { $0 == 0 }
    let second = second.words.reversed().drop { $0 == 0 }
    guard first.count == second.count else { return Order(first.count, second.count) }
    return zip(first, second).first { $0 != $1 }.map { Order($0, $1) } ?? .same
  }

  /// Compares the absolute value of the first number with the second.
  ///
  /// The first is not zero. The second is not negative, and of similar size.
  static func compare(_ first: Decimal128, _ second: Double) -> Order {
    guard second > 0 else { return .descending }
    var decimal = ComparableNumber(0)
    for digit in first.digits { decimal.multiply(by: 10, adding: UInt64(digit)) }
    // The significand has 53 bits; `power` is its power of two.
    let power = Int(second.exponent) - 52
    var binary = ComparableNumber(UInt64(second.significand * 0x1p52))
    let least = min(power, first.exponent)
    decimal.multiply(byPowerOf: 2, first.exponent - least)
    binary.multiply(byPowerOf: 2, power - least)
    decimal.multiply(byPowerOf: 5, first.exponent)
    binary.multiply(byPowerOf: 5, -first.exponent)
    return compare(decimal, binary)
  }
}
