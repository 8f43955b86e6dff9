/// A decimal number of 34 digits, with its trailing zeros: `1.10` stays `1.10`.
///
/// The arithmetic is our own. libmpdec, the one of CPython, is not among Debian 12's packages. Intel's
/// library, the one of MongoDB (libintelrdfpmath-dev), is there to be linked statically: it adds in
/// 0.1 µs and multiplies in 0.6 µs, this in 3 and 5 µs, of which a request may do some thousands
/// within its budget. But what it would replace is about half of this: reading without rounding, the
/// text and the conversion of doubles follow rules of MongoDB's that it does not have. Of 300,000 sums
/// and products at and beyond all limits, this, Intel's and CPython's came out the same to the digit
/// and the exponent; `Decimal128Tests` keeps such cases.
///
/// - Source: IEEE 754-2019 decimal128; the text and the limits by MongoDB's BSON Decimal128
///   specification.
package struct Decimal128: Sendable, Equatable {
  enum Class: Sendable { case finite, infinity, nan }

  let kind: Class
  let isNegative: Bool
  /// The coefficient, most significant first, each 0 to 9; empty for zero.
  let digits: [UInt8]
  /// The power of ten of the last digit.
  let exponent: Int

  static let precision = 34
  private static let doublePrecision = 15
  static let exponents = -6176...6111
  static let nan = Decimal128(.nan)

  private init(_ kind: Class, _ isNegative: Bool, _ digits: [UInt8], _ exponent: Int) {
    self.kind = kind
    self.isNegative = isNegative
    self.digits = digits
    self.exponent = exponent
  }

  init(_ kind: Class, isNegative: Bool = false) { self.init(kind, isNegative, [], 0) }

  /// The nearest number that there is; half goes to even, too much to infinity.
  init(isNegative: Bool, digits: [UInt8], exponent: Int) {
    var digits = Array(digits.drop { $0 == 0 })
    var exponent = exponent
    let excess = max(digits.count - Self.precision, Self.exponents.lowerBound - exponent)
    if excess > 0 {
      digits = Self.round(digits, dropping: excess)
      exponent += excess
      if digits.count > Self.precision {
        digits.removeLast()
        exponent += 1
      }
    }
    let zeros = exponent - Self.exponents.upperBound
    if zeros > 0 {
      guard digits.isEmpty || digits.count + zeros <= Self.precision else {
        self.init(.infinity, isNegative: isNegative)
        return
      }
      if !digits.isEmpty { digits += [UInt8](repeating: 0, count: zeros) }
      exponent = Self.exponents.upperBound
    }
    self.init(.finite, isNegative, digits, exponent)
  }

  init(_ value: Int64) {
    let digits = String(value.magnitude).utf8.map { $0 - UInt8(ascii: "0") }
    self.init(isNegative: value < 0, digits: digits, exponent: 0)
  }

  /// As MongoDB converts for arithmetic: to the 15 significant digits that every double has, zeros
  /// at the end among them.
  init(_ value: Double) {
    guard value.isFinite, let shortest = Decimal128(value.description) else {
      self.init(value.isNaN ? .nan : .infinity, isNegative: value < 0)
      return
    }
    let excess = shortest.digits.count - Self.doublePrecision
    var digits = Self.round(shortest.digits, dropping: max(excess, 0))
    var exponent = shortest.exponent + max(excess, 0)
    if !digits.isEmpty, digits.count < Self.doublePrecision {
      let zeros = Self.doublePrecision - digits.count
      digits += [UInt8](repeating: 0, count: zeros)
      exponent -= zeros
    }
    self.init(isNegative: shortest.isNegative, digits: digits, exponent: exponent)
  }

  var isZero: Bool { kind == .finite && digits.isEmpty }

  /// One more than the power of ten of the first digit.
  var magnitude: Int { exponent + digits.count }

  /// What is left without the last digits, rounded half to even.
  private static func round(_ digits: [UInt8], dropping excess: Int) -> [UInt8] {
    guard excess > 0 else { return digits }
    guard excess <= digits.count else { return [] }
    var kept = Array(digits.dropLast(excess))
    let dropped = digits.suffix(excess)
    let isEven = (kept.last ?? 0) % 2 == 0
    let isHalf = dropped.first == 5 && dropped.dropFirst().allSatisfy { $0 == 0 }
    guard let first = dropped.first, first >= 5, !(isHalf && isEven) else { return kept }
    for position in kept.indices.reversed() {
      guard kept[position] == 9 else {
        kept[position] += 1
        return kept
      }
      kept[position] = 0
    }
    return [1] + kept
  }
}

// MARK: Calculating

extension Decimal128 {
  static func + (first: Decimal128, second: Decimal128) -> Decimal128 {
    if first.kind != .finite || second.kind != .finite {
      if first.kind == .nan || second.kind == .nan { return nan }
      guard first.kind == second.kind else { return first.kind == .infinity ? first : second }
      return first.isNegative == second.isNegative ? first : nan
    }
    let lowest = min(first.exponent, second.exponent)
    let (large, small) = first.magnitude >= second.magnitude ? (first, second) : (second, first)
    if first.isZero || second.isZero {
      let sum = first.isZero ? second : first
      let isNegative = sum.isZero ? first.isNegative && second.isNegative : sum.isNegative
      let exponent = sum.isZero ? lowest : max(lowest, sum.magnitude - precision)
      let zeros = [UInt8](repeating: 0, count: max(sum.exponent - exponent, 0))
      return Decimal128(isNegative: isNegative, digits: sum.digits + zeros, exponent: exponent)
    }
    // What is further down than this decides on rounding only: a trace of it is enough.
    let floor = large.magnitude - 2 * precision - 2
    guard small.magnitude > floor else {
      let trace = Decimal128(isNegative: small.isNegative, digits: [1], exponent: floor)
      return sum(of: large, trace, from: floor)
    }
    return sum(of: large, small, from: lowest)
  }

  /// Adds the columns of digits from a power of ten up.
  private static func sum(
    of first: Decimal128,
    _ second: Decimal128,
    from lowest: Int
  ) -> Decimal128 {
    var columns = [Int](repeating: 0, count: max(first.magnitude, second.magnitude) - lowest + 1)
    for number in [first, second] {
      for (offset, digit) in number.digits.reversed().enumerated() {
        columns[number.exponent - lowest + offset] += number.isNegative ? -Int(digit) : Int(digit)
      }
    }
    var isNegative = false
    var digits = carried(columns)
    if digits == nil {
      isNegative = true
      digits = carried(columns.map { -$0 })
    }
    return Decimal128(isNegative: isNegative, digits: digits ?? [], exponent: lowest)
  }

  /// The digits that columns come to, most significant first; nil when they are below zero.
  private static func carried(_ columns: [Int]) -> [UInt8]? {
    var carry = 0
    var digits: [UInt8] = []
    for column in columns {
      let value = column + carry
      let digit = ((value % 10) + 10) % 10
      carry = (value - digit) / 10
      digits.append(UInt8(digit))
    }
    return carry < 0 ? nil : digits.reversed()
  }

  static func * (first: Decimal128, second: Decimal128) -> Decimal128 {
    let isNegative = first.isNegative != second.isNegative
    if first.kind != .finite || second.kind != .finite {
      guard first.kind != .nan, second.kind != .nan, !first.isZero, !second.isZero else {
        return nan
      }
      return Decimal128(.infinity, isNegative: isNegative)
    }
    var columns = [Int](repeating: 0, count: first.digits.count + second.digits.count)
    for (offset, digit) in first.digits.reversed().enumerated() {
      for (other, factor) in second.digits.reversed().enumerated() {
        columns[offset + other] += Int(digit) * Int(factor)
      }
    }
    return Decimal128(
      isNegative: isNegative,
      digits: carried(columns) ?? [],
      exponent: first.exponent + second.exponent
    )
  }
}
