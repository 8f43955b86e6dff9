internal import JSON

/// A value of the types that MongoDB's documents have.
///
/// `==` tells whether two would be stored alike: types count (`1` is not `1.0`), so do the order
/// of fields and the digits of a decimal. `compare` and `ByValue` are MongoDB's own equality.
///
/// The values are kept in Swift, without libbson: no BSON bytes ever come in or go out, libbson
/// reads decimals but does not calculate, and the types are needed to compare and promote.
/// Arrays and documents that came in are read when they are looked at, and what is seldom is held
/// apart: a value takes 24 bytes.
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
  /// Milliseconds from 1970.
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

  /// The value of a number that is a whole one, whatever its type.
  package var integer: Int? {
    switch self {
    case .int32(let value): Int(value)
    case .int64(let value): Int(value)
    case .double(let value): Int(exactly: value.value)
    case .decimal(let value): Int(exactly: value.double)
    default: nil
    }
  }

  /// As an operand of `$exists` or `$currentDate`: false, null, undefined and zero are not true.
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

/// A double, with the digits that it was written with in JSON.
///
/// They are kept so that what an update does not touch is not rounded: other doors of the service
/// store numbers of any length.
package struct BSONDouble: Sendable, Equatable {
  package let value: Double
  private let written: Spelling?

  /// Apart, so that a value that has none is no larger for it.
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

  /// nil when it was calculated, or came as `$numberDouble`.
  var spelling: String? { written?.text }

  package static func == (first: BSONDouble, second: BSONDouble) -> Bool {
    first.value.bitPattern == second.value.bitPattern
      && first.digits == second.digits
  }

  /// The number as a store can keep it that spells numbers out, as `jsonb` does, and that reads
  /// back as the same double; nil when there is none, as for `1e300` and `-0.0`.
  var storedText: String? {
    guard !value.isZero || value.sign == .plus else { return nil }
    if let spelling, digits != nil || !spelling.utf8.contains(where: { $0 | 0x20 == 0x65 }) {
      return spelling
    }
    let text = value.description
    return value.isFinite && !text.utf8.contains(UInt8(ascii: "e")) ? text : nil
  }

  /// Only when they say more than the double.
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
