internal import JSON

/// A value of any BSON type.
///
/// `==` is true if two values would be stored alike. It distinguishes types (`1` is not `1.0`), the
/// order of fields, and the digits of a decimal. `compare` and `EqualityKey` implement MongoDB's own
/// equality.
///
/// The values are Swift values, without libbson, for these reasons:
/// - The service never receives or sends BSON bytes.
/// - libbson's reader of Extended JSON accepts duplicate keys and rejects malformed wrappers, which
///   are data here.
/// - libbson reads decimals but cannot calculate with them.
/// - Comparison and promotion need the types.
///
/// Arrays and documents from a request are decoded lazily. Rare types are stored indirectly, so a
/// value takes 24 bytes.
/// - Source: bsonspec.org, version 1.1.
package enum BSON: Sendable {
  case double(BSONDouble)
  case string(String)
  case document(BSONDocument)
  case array(BSONArray)
  case binary([UInt8], subtype: UInt8)
  case undefined
  /// 24 hexadecimal digits in lower case.
  case objectID(String)
  case bool(Bool)
  /// Milliseconds since 1970.
  case date(Int64)
  case null
  indirect case regularExpression(pattern: String, options: String)
  indirect case dbPointer(collection: String, id: String)
  indirect case javascript(String, scope: BSONDocument?)
  case symbol(String)
  case int32(Int32)
  case timestamp(seconds: UInt32, increment: UInt32)
  case int64(Int64)
  indirect case decimal(Decimal128)
  case minKey
  case maxKey

  var document: BSONDocument? {
    if case .document(let value) = self { return value }
    return nil
  }

  static func array(_ elements: [BSON]) -> BSON { .array(BSONArray(elements)) }

  var array: BSONArray? {
    if case .array(let value) = self { return value }
    return nil
  }

  var string: String? {
    if case .string(let value) = self { return value }
    return nil
  }

  /// The value of a number of any type if it is an integer; otherwise nil.
  package var integer: Int? {
    switch self {
    case .int32(let value): Int(value)
    case .int64(let value): Int(value)
    case .double(let value): Int(exactly: value.value)
    case .decimal(let value): Int(exactly: value.double)
    default: nil
    }
  }

  /// The value as an operand of `$exists` or `$currentDate`.
  ///
  /// False, null, undefined and zero are not true.
  var isTruthy: Bool {
    switch self {
    case .bool(let value): value
    case .null, .undefined: false
    case .int32(let value): value != 0
    case .int64(let value): value != 0
    case .double(let value): value.value != 0
    case .decimal(let value): !value.isZero
    default: true
    }
  }
}

/// A double, with the digits of its JSON text.
///
/// The digits are kept so that an update does not round the fields that it leaves unchanged. Other
/// APIs of the service store numbers of any length.
package struct BSONDouble: Sendable, Equatable {
  package let value: Double
  private let written: Spelling?

  /// The digits, in an object of their own so that a value without them is not larger.
  private final class Spelling: Sendable {
    let text: String
    init(_ text: String) { self.text = text }
  }

  package init(_ value: Double) {
    self.value = value
    written = nil
  }

  init(_ value: Double, spelling: String) {
    self.value = value
    written = Spelling(spelling)
  }

  /// The digits of the JSON text.
  ///
  /// Nil if the number was calculated, or was read from `$numberDouble`.
  var spelling: String? { written?.text }

  package static func == (first: BSONDouble, second: BSONDouble) -> Bool {
    first.value.bitPattern == second.value.bitPattern
      && first.digits == second.digits
  }

  /// A text that reads back as the same double from a store such as `jsonb`, which writes all
  /// digits out.
  ///
  /// It has no exponent, but a fraction, so it reads back as a double and not as an integer. Nil if
  /// no such text exists: for `-0.0`, NaN and infinity.
  var storedText: String? {
    guard !value.isZero || value.sign == .plus else { return nil }
    if let spelling, digits != nil || !spelling.utf8.contains(where: { $0 | 0x20 == 0x65 }) {
      return spelling
    }
    return value.isFinite ? plainText : nil
  }

  /// The shortest digits of a finite number, without an exponent.
  ///
  /// At most 343 bytes: a sign, `0.`, 323 zeros and 17 digits.
  private var plainText: String {
    let text = value.description
    let parts = text.split(separator: "e")
    guard parts.count == 2, let exponent = Int(parts[1]) else { return text }
    let mantissa = parts[0].drop { $0 == "-" }
    let digits = String(mantissa.filter { $0 != "." })
    // Swift writes an exponent below 1e-4 and from 2^54, so the point is before or after all digits.
    let point = 1 + exponent
    let plain =
      point <= 0
      ? "0." + String(repeating: "0", count: -point) + digits
      : digits + String(repeating: "0", count: max(point - digits.count, 0)) + ".0"
    return (value.sign == .minus ? "-" : "") + plain
  }

  /// The number of the JSON text, if it is more precise than the double; otherwise nil.
  private var digits: JSONNumber? {
    guard let spelling, JSONNumber(spelling) != JSONNumber(value.description) else { return nil }
    return JSONNumber(spelling)
  }
}

extension BSON: Equatable {
  package static func == (first: BSON, second: BSON) -> Bool {
    switch (first, second) {
    case (.double(let first), .double(let second)): first == second
    case (.string(let first), .string(let second)), (.symbol(let first), .symbol(let second)),
      (.objectID(let first), .objectID(let second)):
      first.utf8.elementsEqual(second.utf8)
    case (.document(let first), .document(let second)): first == second
    case (.array(let first), .array(let second)): first == second
    case (.decimal(let first), .decimal(let second)): first == second
    case (.int32(let first), .int32(let second)): first == second
    case (.int64(let first), .int64(let second)): first == second
    case (.javascript(let first, let scope), .javascript(let second, let other)):
      first.utf8.elementsEqual(second.utf8) && scope == other
    default: first.kind == second.kind && compare(first, second) == .same
    }
  }
}
