internal import JSON

enum Order: Int {
  case ascending = -1
  case same, descending

  /// Compares the first value to the second.
  init<Value: Comparable>(_ first: Value, _ second: Value) {
    self = first < second ? .ascending : second < first ? .descending : .same
  }

  init(text first: String, _ second: String) {
    var rest = second.utf8.makeIterator()
    for byte in first.utf8 {
      guard let other = rest.next() else {
        self = .descending
        return
      }
      if byte != other {
        self = byte < other ? .ascending : .descending
        return
      }
    }
    self = rest.next() == nil ? .same : .ascending
  }

  var reversed: Order { self == .same ? .same : self == .ascending ? .descending : .ascending }

  /// Returns this order, or the next one if this is `.same`.
  func then(_ next: @autoclosure () -> Order) -> Order { self == .same ? next() : self }
}

/// MongoDB's order of all values, without a collation.
///
/// - Source: MongoDB manual, "Comparison and sort order".
extension BSON {
  static func compare(_ first: BSON, _ second: BSON) -> Order {
    let ranks = Order(first.kind.rank, second.kind.rank)
    guard ranks == .same else { return ranks }
    switch (first, second) {
    case (.string(let first), .string(let second)), (.string(let first), .symbol(let second)),
      (.symbol(let first), .string(let second)), (.symbol(let first), .symbol(let second)),
      (.objectID(let first), .objectID(let second)):
      return Order(text: first, second)
    case (.document(let first), .document(let second)): return compare(first, second)
    case (.array(let first), .array(let second)):
      for (first, second) in zip(first, second) {
        let order = compare(first, second)
        guard order == .same else { return order }
      }
      return Order(first.count, second.count)
    case (.binary(let first, let subtype), .binary(let second, let other)):
      return Order(first.count, second.count).then(Order(subtype, other)).then(
        first.lexicographicallyPrecedes(second)
          ? .ascending : first == second ? .same : .descending
      )
    case (.bool(let first), .bool(let second)): return Order(first ? 1 : 0, second ? 1 : 0)
    case (.date(let first), .date(let second)): return Order(first, second)
    case (.timestamp(let first, let increment), .timestamp(let second, let other)):
      return Order(first, second).then(Order(increment, other))
    case (.regularExpression(let first, let options), .regularExpression(let second, let other)):
      return Order(text: first, second).then(Order(text: options, other))
    case (.dbPointer(let first, let id), .dbPointer(let second, let other)):
      return Order(first.utf8.count, second.utf8.count)
        .then(Order(text: first, second)).then(Order(text: id, other))
    case (.javascript(let first, let scope), .javascript(let second, let other)):
      return Order(text: first, second)
        .then(compare(scope ?? BSONDocument(), other ?? BSONDocument()))
    default: return first.kind.isNumber ? compareNumbers(first, second) : .same
    }
  }

  /// Compares two documents field by field: by type, then by name, then by value.
  static func compare(_ first: BSONDocument, _ second: BSONDocument) -> Order {
    for (first, second) in zip(first, second) {
      let order = Order(first.value.kind.rank, second.value.kind.rank)
        .then(Order(text: first.name.text, second.name.text))
        .then(compare(first.value, second.value))
      guard order == .same else { return order }
    }
    return Order(first.count, second.count)
  }

  /// Compares two numbers of any types exactly.
  ///
  /// NaN is less than all numbers.
  private static func compareNumbers(_ first: BSON, _ second: BSON) -> Order {
    switch (first, second) {
    case (.decimal(let first), .decimal(let second)): compare(first, second)
    case (.decimal(let first), .double(let second)): compare(first, second.value)
    case (.double(let first), .decimal(let second)): compare(second, first.value).reversed
    case (.decimal(let first), _): compare(first, Decimal128(second.int64 ?? 0))
    case (_, .decimal(let second)): compare(Decimal128(first.int64 ?? 0), second)
    case (.double(let first), .double(let second)): compare(first.value, second.value)
    case (.double(let first), _): compare(second.int64 ?? 0, first.value).reversed
    case (_, .double(let second)): compare(first.int64 ?? 0, second.value)
    default: Order(first.int64 ?? 0, second.int64 ?? 0)
    }
  }

  var int64: Int64? {
    switch self {
    case .int32(let value): Int64(value)
    case .int64(let value): value
    default: nil
    }
  }

  private static func compare(_ first: Double, _ second: Double) -> Order {
    first.isNaN || second.isNaN
      ? Order(first.isNaN ? 0 : 1, second.isNaN ? 0 : 1) : Order(first, second)
  }

  private static func compare(_ first: Int64, _ second: Double) -> Order {
    guard !second.isNaN else { return .descending }
    guard let floor = Int64(exactly: second.rounded(.down)) else {
      return second < 0 ? .descending : .ascending
    }
    return Order(first, floor).then(second > Double(floor) ? .ascending : .same)
  }

  private static func compare(_ first: Decimal128, _ second: Decimal128) -> Order {
    guard first.kind == .finite, second.kind == .finite else {
      return Order(first.extent, second.extent)
    }
    if first.isZero || second.isZero || first.isNegative != second.isNegative {
      return Order(first.sign, second.sign)
    }
    let width = max(first.digits.count, second.digits.count)
    let digits = [first, second].map {
      $0.digits + [UInt8](repeating: 0, count: width - $0.digits.count)
    }
    let order = Order(first.magnitude, second.magnitude).then(
      digits[0].lexicographicallyPrecedes(digits[1])
        ? .ascending : digits[0] == digits[1] ? .same : .descending
    )
    return first.isNegative ? order.reversed : order
  }

  /// Compares the nearest doubles, then the exact values.
  private static func compare(_ first: Decimal128, _ second: Double) -> Order {
    let nearest = compare(first.double, second)
    guard nearest == .same, first.kind == .finite, !first.isZero, second.isFinite else {
      // A decimal past the range of doubles is not infinite.
      guard nearest == .same, first.kind == .finite, second.isInfinite else { return nearest }
      return second < 0 ? .descending : .ascending
    }
    let order = ComparableNumber.compare(first, second.magnitude)
    return first.isNegative ? order.reversed : order
  }
}

extension Decimal128 {
  fileprivate var sign: Int { isZero ? 0 : isNegative ? -1 : 1 }

  /// The position relative to finite numbers: NaN, infinities, finite.
  fileprivate var extent: Int {
    switch kind {
    case .nan: -2
    case .infinity: isNegative ? -1 : 1
    case .finite: 0
    }
  }
}

/// A value compared by MongoDB's equality: `1`, `1.0` and a decimal `1.00` are equal.
struct EqualityKey: Hashable, Sendable {
  let value: BSON

  init(_ value: BSON) { self.value = value }

  static func == (first: EqualityKey, second: EqualityKey) -> Bool {
    BSON.compare(first.value, second.value) == .same
  }

  func hash(into hasher: inout Hasher) { Self.hash(value, into: &hasher) }

  /// Hashes everything that `==` compares.
  ///
  /// Clients choose the values. If the hash left a part out, they could make a set as slow as a
  /// list.
  private static func hash(_ value: BSON, into hasher: inout Hasher) {
    hasher.combine(value.kind.rank)
    switch value {
    case .int32, .int64, .double, .decimal: hasher.combine(NumberKey(value))
    case .string(let text), .symbol(let text), .objectID(let text): hash(text, into: &hasher)
    case .javascript(let text, let scope):
      hash(text, into: &hasher)
      hash(scope ?? BSONDocument(), into: &hasher)
    case .document(let document): hash(document, into: &hasher)
    case .array(let elements): for element in elements { hash(element, into: &hasher) }
    case .binary(let bytes, let subtype):
      hasher.combine(bytes)
      hasher.combine(subtype)
    case .bool(let flag): hasher.combine(flag)
    case .date(let milliseconds): hasher.combine(milliseconds)
    case .timestamp(let seconds, let increment):
      hasher.combine(seconds)
      hasher.combine(increment)
    case .regularExpression(let text, let other), .dbPointer(let text, let other):
      hash(text, into: &hasher)
      hash(other, into: &hasher)
    case .undefined, .null, .minKey, .maxKey: break
    }
  }

  private static func hash(_ document: BSONDocument, into hasher: inout Hasher) {
    for field in document {
      hasher.combine(field.name)
      hash(field.value, into: &hasher)
    }
  }

  private static func hash(_ text: String, into hasher: inout Hasher) {
    hasher.combine(ByteString(text))
  }
}

extension Set<EqualityKey> {
  /// Inserts the values one by one, without an intermediate array.
  init(values: some Sequence<BSON>) {
    self.init()
    for value in values { insert(EqualityKey(value)) }
  }
}

/// The canonical form shared by equal numbers of all types.
private enum NumberKey: Hashable {
  case whole(Int64)
  /// A double that is not a 64-bit integer, or infinity.
  case double(Double)
  /// A decimal that no double equals.
  case decimal(isNegative: Bool, digits: [UInt8], exponent: Int)
  case nan

  init(_ number: BSON) {
    switch number {
    case .double(let number): self.init(number.value)
    case .decimal(let decimal): self.init(decimal)
    default: self = .whole(number.int64 ?? 0)
    }
  }

  private init(_ value: Double) {
    self = value.isNaN ? .nan : Int64(exactly: value).map(Self.whole) ?? .double(value)
  }

  private init(_ decimal: Decimal128) {
    guard decimal.kind == .finite else {
      self.init(decimal.double)
      return
    }
    var digits = decimal.digits
    var exponent = decimal.exponent
    while digits.last == 0 {
      digits.removeLast()
      exponent += 1
    }
    let value = digits.reduce(UInt128(0)) { $0 * 10 + UInt128($1) }
    if value == 0 {
      self = .whole(0)
    } else if let whole = Self.whole(value, exponent, decimal.isNegative) {
      self = .whole(whole)
    } else if Self.isDouble(value, exponent) {
      self = .double(decimal.double)
    } else {
      self = .decimal(isNegative: decimal.isNegative, digits: digits, exponent: exponent)
    }
  }

  /// Returns the value times a power of ten, or nil if it does not fit 64 bits.
  ///
  /// 10 to the power of 19 alone does not fit.
  private static func whole(_ value: UInt128, _ exponent: Int, _ isNegative: Bool) -> Int64? {
    guard (0..<19).contains(exponent) else { return nil }
    let power = (0..<exponent).reduce(UInt128(1)) { power, _ in power * 10 }
    let (product, overflow) = value.multipliedReportingOverflow(by: power)
    guard !overflow, product <= 1 << 63 else { return nil }
    return Int64(exactly: isNegative ? -Int128(product) : Int128(product))
  }

  /// Returns whether a double exactly equals the value times that power of ten.
  ///
  /// Without its powers of two, the value must fit 53 bits. It has at most 34 digits, and the last
  /// one is not zero.
  private static func isDouble(_ value: UInt128, _ exponent: Int) -> Bool {
    // 5 to the power of 49 has more than 34 digits.
    guard (-48...22).contains(exponent) else { return false }
    let fives = (0..<abs(exponent)).reduce(UInt128(1)) { power, _ in power * 5 }
    let odd: UInt128
    if exponent < 0 {
      guard value.isMultiple(of: fives) else { return false }
      odd = value / fives
    } else {
      let (product, overflow) = (value >> value.trailingZeroBitCount)
        .multipliedReportingOverflow(by: fives)
      guard !overflow else { return false }
      odd = product
    }
    return odd >> odd.trailingZeroBitCount < 1 << 53
  }
}

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
