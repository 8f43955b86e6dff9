/// Arithmetic on numbers of mixed types.
///
/// Decimal takes precedence over double, and double over integers. An int32 is widened to an int64
/// if the result needs it.
extension BSON {
  /// Returns the sum, or nil if it does not fit 64 bits.
  static func sum(_ first: BSON, _ second: BSON) -> BSON? {
    calculate(first, second, { $0.addingReportingOverflow($1) }, { $0 + $1 }, { $0 + $1 })
  }

  /// Returns the product, or nil if it does not fit 64 bits.
  static func product(_ first: BSON, _ second: BSON) -> BSON? {
    calculate(first, second, { $0.multipliedReportingOverflow(by: $1) }, { $0 * $1 }, { $0 * $1 })
  }

  private static func calculate(
    _ first: BSON, _ second: BSON, _ whole: (Int64, Int64) -> (partialValue: Int64, overflow: Bool),
    _ double: (Double, Double) -> Double, _ decimal: (Decimal128, Decimal128) -> Decimal128
  ) -> BSON? {
    if let left = first.int64, let right = second.int64 {
      let (value, overflow) = whole(left, right)
      return overflow ? nil : BSON.int64(value).narrowed(first, second)
    }
    if case .decimal = first { return .decimal(decimal(first.asDecimal, second.asDecimal)) }
    if case .decimal = second { return .decimal(decimal(first.asDecimal, second.asDecimal)) }
    return .double(BSONDouble(double(first.asDouble, second.asDouble)))
  }

  /// Returns two integers combined bit by bit.
  static func bits(_ first: BSON, _ second: BSON, _ combine: (Int64, Int64) -> Int64) -> BSON {
    BSON.int64(combine(first.int64 ?? 0, second.int64 ?? 0)).narrowed(first, second)
  }

  /// Returns an int32 if both operands were int32 and the result fits.
  private func narrowed(_ first: BSON, _ second: BSON) -> BSON {
    guard case .int32 = first, case .int32 = second, let value = int64.flatMap(Int32.init(exactly:))
    else { return self }
    return .int32(value)
  }

  /// Zero of the same type as this number.
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
