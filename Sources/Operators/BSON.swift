import Encoding
package import JSON

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

extension BSON {
  /// The type of a value, with the number that `$type` accepts.
  enum Kind: Int, CaseIterable, Sendable {
    case minKey = -1
    case double = 1
    case string, object, array, binary, undefined, objectID, bool, date, null, regex
    case dbPointer, javascript, symbol, javascriptWithScope, int, timestamp, long, decimal
    case maxKey = 127

    /// The position of the type in MongoDB's order.
    ///
    /// Only values of the same rank are compared by value.
    ///
    /// - Source: MongoDB manual, "Comparison and sort order".
    var rank: Int {
      switch self {
      case .minKey: -1
      case .undefined: Self.missingRank
      case .null: 5
      case .double, .int, .long, .decimal: 10
      case .string, .symbol: 15
      case .object: 20
      case .array: 25
      case .binary: 30
      case .objectID: 35
      case .bool: 40
      case .date: 45
      case .timestamp: 47
      case .regex: 50
      case .dbPointer: 55
      case .javascript: 60
      case .javascriptWithScope: 65
      case .maxKey: 127
      }
    }

    /// The rank of a missing field.
    static let missingRank = 0

    var isNumber: Bool { rank == Kind.int.rank }

    /// The name that `$type` accepts.
    var alias: String {
      switch self {
      case .minKey: "minKey"
      case .double: "double"
      case .string: "string"
      case .object: "object"
      case .array: "array"
      case .binary: "binData"
      case .undefined: "undefined"
      case .objectID: "objectId"
      case .bool: "bool"
      case .date: "date"
      case .null: "null"
      case .regex: "regex"
      case .dbPointer: "dbPointer"
      case .javascript: "javascript"
      case .symbol: "symbol"
      case .javascriptWithScope: "javascriptWithScope"
      case .int: "int"
      case .timestamp: "timestamp"
      case .long: "long"
      case .decimal: "decimal"
      case .maxKey: "maxKey"
      }
    }

    /// Returns the kinds of an alias, or nil if the alias is unknown.
    static func named(_ alias: String) -> [Kind]? {
      if alias == "number" { return allCases.filter(\.isNumber) }
      return allCases.first { $0.alias == alias }.map { [$0] }
    }
  }

  var kind: Kind {
    switch self {
    case .double: .double
    case .string: .string
    case .document: .object
    case .array: .array
    case .binary: .binary
    case .undefined: .undefined
    case .objectID: .objectID
    case .bool: .bool
    case .date: .date
    case .null: .null
    case .regularExpression: .regex
    case .dbPointer: .dbPointer
    case .javascript(_, let scope): scope == nil ? .javascript : .javascriptWithScope
    case .symbol: .symbol
    case .int32: .int
    case .timestamp: .timestamp
    case .int64: .long
    case .decimal: .decimal
    case .minKey: .minKey
    case .maxKey: .maxKey
    }
  }
}

/// The conversion to plain JSON, for readers that do not know Extended JSON.
extension BSON {
  /// Returns a JSON value in which plain JSON replaces each well-formed wrapper of Extended JSON.
  ///
  /// - Integers, doubles and decimals are numbers. Values without a JSON number (NaN, infinity, a
  ///   decimal with more than 300 zeros) are strings.
  /// - A date is a string with the format `date-time`, in UTC. A date outside the years 1 to 9999
  ///   is the string of its milliseconds.
  /// - An ObjectId or a DBPointer is a string of 24 hexadecimal digits.
  /// - Binary data is a string in base64. A UUID is a string of hexadecimal digits in groups.
  /// - A symbol, code or a regular expression is the string of its text.
  /// - A timestamp is the number of its seconds.
  /// - MinKey and MaxKey are the strings `MinKey` and `MaxKey`. Undefined is null.
  package static func plain(_ json: JSON) -> JSON { replacement(for: json) ?? json }

  /// Returns nil if there is nothing to replace, so that most documents are not copied.
  private static func replacement(for json: JSON) -> JSON? {
    switch json {
    case .null, .bool, .string, .number: return nil
    case .array(let elements):
      var replaced: [JSON]?
      for (index, element) in elements.enumerated() {
        guard let new = replacement(for: element) else { continue }
        if replaced == nil { replaced = Array(elements) }
        replaced?[index] = new
      }
      return replaced.map { .array(JSONArray($0)) }
    case .object(let object):
      if let value = Wrapper.value(of: object) { return value.plain }
      var replaced: JSONObject?
      for (name, member) in object {
        guard let new = replacement(for: member) else { continue }
        if replaced == nil { replaced = object }
        replaced?[name] = new
      }
      return replaced.map(JSON.object)
    }
  }

  /// The years 1 to 9999, in milliseconds since 1970.
  private static let datesOfText: Range<Int64> = -62_135_596_800_000..<253_402_300_800_000

  /// The maximum number of zeros before the first or after the last digit of a decimal.
  ///
  /// Reading a number takes time in proportion to them.
  private static let mostZeros = 300

  /// The plain JSON of a value that had a wrapper.
  private var plain: JSON {
    switch self {
    case .int32(let value): .number(JSONNumber(Int(value)))
    case .int64(let value): .number(JSONNumber(String(value)))
    case .double(let number) where number.value.isFinite:
      .number(JSONNumber(number.value.description))
    case .double(let number):
      .string(number.value.isNaN ? "NaN" : number.value < 0 ? "-Infinity" : "Infinity")
    case .decimal(let value)
    where value.kind == .finite && (-Self.mostZeros...Self.mostZeros).contains(value.exponent):
      .number(JSONNumber(value.description))
    case .decimal(let value): .string(value.description)
    case .date(let milliseconds) where Self.datesOfText.contains(milliseconds):
      .string(Self.text(ofDate: milliseconds))
    case .date(let milliseconds): .string(String(milliseconds))
    case .objectID(let text), .dbPointer(_, let text): .string(text)
    case .binary(let bytes, subtype: 4) where bytes.count == 16: .string(Self.uuid(bytes))
    case .binary(let bytes, _): .string(bytes.paddedBase64)
    case .symbol(let text), .javascript(let text, _), .regularExpression(let text, _):
      .string(text)
    case .timestamp(let seconds, _): .number(JSONNumber(Int(seconds)))
    case .minKey: .string("MinKey")
    case .maxKey: .string("MaxKey")
    case .undefined, .null, .string, .bool, .document, .array: .null
    }
  }

  private static func uuid(_ bytes: [UInt8]) -> String {
    [0..<4, 4..<6, 6..<8, 8..<10, 10..<16]
      .map { String(hexadecimal: bytes[$0]) }.joined(separator: "-")
  }
}

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
