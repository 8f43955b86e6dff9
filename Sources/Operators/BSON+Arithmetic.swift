/// Numbers of different types together: decimal wins over double, double over whole numbers; these
/// become longer when they must.
extension BSON {
  /// The sum; nil when it passes 64 bits.
  static func sum(_ first: BSON, _ second: BSON) -> BSON? {
    calculate(first, second, { $0.addingReportingOverflow($1) }, { $0 + $1 }, { $0 + $1 })
  }

  /// The product; nil when it passes 64 bits.
  static func product(_ first: BSON, _ second: BSON) -> BSON? {
    calculate(first, second, { $0.multipliedReportingOverflow(by: $1) }, { $0 * $1 }, { $0 * $1 })
  }

  private static func calculate(
    _ first: BSON,
    _ second: BSON,
    _ whole: (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
    _ double: (Double, Double) -> Double,
    _ decimal: (Decimal128, Decimal128) -> Decimal128
  ) -> BSON? {
    if let left = first.int64, let right = second.int64 {
      let (value, overflow) = whole(left, right)
      return overflow ? nil : BSON.int64(value).narrowed(first, second)
    }
    if case .decimal = first { return .decimal(decimal(first.asDecimal, second.asDecimal)) }
    if case .decimal = second { return .decimal(decimal(first.asDecimal, second.asDecimal)) }
    return .double(BSONDouble(double(first.asDouble, second.asDouble)))
  }

  /// The bits of two whole numbers combined.
  static func bits(_ first: BSON, _ second: BSON, _ combine: (Int64, Int64) -> Int64) -> BSON {
    BSON.int64(combine(first.int64 ?? 0, second.int64 ?? 0)).narrowed(first, second)
  }

  /// A result as an int32 again, when both operands were one and it fits.
  private func narrowed(_ first: BSON, _ second: BSON) -> BSON {
    guard case .int32 = first, case .int32 = second, let value = int64.flatMap(Int32.init(exactly:))
    else { return self }
    return .int32(value)
  }

  /// Zero, of the type of this number.
  var zero: BSON {
    switch self {
    case .int32: .int32(0)
    case .int64: .int64(0)
    case .decimal: .decimal(Decimal128(Int64(0)))
    default: .double(BSONDouble(0))
    }
  }

  private var asDouble: Double {
    if case .double(let number) = self { return number.value }
    return Double(int64 ?? 0)
  }

  private var asDecimal: Decimal128 {
    switch self {
    case .decimal(let value): value
    case .double(let number): Decimal128(number.value)
    default: Decimal128(int64 ?? 0)
    }
  }
}
