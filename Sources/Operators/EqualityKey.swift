internal import JSON

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
