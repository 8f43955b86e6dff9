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
