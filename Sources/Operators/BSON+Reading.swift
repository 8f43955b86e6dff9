import Encoding
package import JSON

extension BSON {
  /// Reads MongoDB Extended JSON, relaxed or canonical.
  ///
  /// An integer becomes the smallest integer type that holds it. Any other number becomes a double.
  /// A well-formed wrapper such as `{"$oid": …}` becomes a value of that type. Every other object
  /// is a document, even with names that begin with a dollar. So JSON stored through any other API
  /// of the service can be read here, with the same meaning.
  /// - Throws: `.overflow` if the value is deeper than a stored document may be.
  /// - Source: MongoDB Extended JSON (v2), parsers. They reject a malformed wrapper.
  package init(_ json: JSON) throws(OperatorError) {
    try BSONDocument.checkDepth(of: json)
    self.init(part: json)
  }

  /// Reads a part of a value whose depth was checked, and charges the budget.
  ///
  /// Each read copies strings and decodes wrappers.
  init(_ part: JSONPart, _ budget: inout Budget) throws(OperatorError) {
    try budget.spend(part.length / Budget.bytesPerStep)
    self.init(part: part.value)
  }

  /// Reads a value whose depth was checked.
  init(part json: JSON) {
    switch json {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .string(let value): self = .string(value)
    case .number(let number): self = Self.number(number)
    case .array(let elements): self = .array(BSONArray(elements))
    case .object(let object): self = Wrapper.value(of: object) ?? .document(BSONDocument(object))
    }
  }

  private static func number(_ number: JSONNumber) -> BSON {
    if let value = Int32(number.text) { return .int32(value) }
    if let value = Int64(number.text) { return .int64(value) }
    return .double(BSONDouble(number.double ?? 0, spelling: number.text))
  }
}

extension BSONDocument {
  /// Reads a document from MongoDB Extended JSON, as `BSON` does.
  ///
  /// The top level is never a wrapper.
  ///
  /// - Throws: `.failedToParse` if the JSON is not an object, `.overflow` if it is too deep.
  package init(_ json: JSON) throws(OperatorError) {
    guard let object = json.object else {
      throw OperatorError(.failedToParse, "A document must be an object.")
    }
    try Self.checkDepth(of: json)
    self.init(object)
  }

  fileprivate static func checkDepth(of json: JSON) throws(OperatorError) {
    guard json.extent.depth <= JSONLimits.holding.depth else {
      let depth = JSONLimits.holding.depth
      throw OperatorError(
        .overflow, "Arrays and objects may be nested at most \(depth) levels deep."
      )
    }
  }
}

/// The wrapper objects for types that JSON lacks, by their first name.
enum Wrapper: String, CaseIterable {
  case oid = "$oid"
  case symbol = "$symbol"
  case int = "$numberInt"
  case long = "$numberLong"
  case double = "$numberDouble"
  case decimal = "$numberDecimal"
  case binary = "$binary"
  case uuid = "$uuid"
  case code = "$code"
  case timestamp = "$timestamp"
  case regex = "$regularExpression"
  case dbPointer = "$dbPointer"
  case date = "$date"
  case minKey = "$minKey"
  case maxKey = "$maxKey"
  case undefined = "$undefined"

  /// Returns the wrapper with this name, or nil.
  static func named(_ name: String) -> Wrapper? {
    guard name.utf8.first == UInt8(ascii: "$") else { return nil }
    return allCases.first { $0.rawValue.hasSameBytes(as: name) }
  }

  /// Returns the value of a wrapper object, or nil if the object is not a well-formed wrapper.
  static func value(of object: JSONObject) -> BSON? {
    guard object.count <= 2, object.hasDollarKey else { return nil }
    var members = object.makeIterator()
    guard let first = members.next() else { return nil }
    guard members.next() != nil else {
      return named(first.key).flatMap { value($0, first.value) }
    }
    // A scope is a document. An object that is itself a wrapper, such as a number, is not one.
    guard let code = object["$code"]?.string, let scope = object["$scope"]?.object,
      value(of: scope) == nil
    else { return nil }
    return .javascript(code, scope: BSONDocument(scope))
  }

  private static func value(_ wrapper: Wrapper, _ operand: JSON) -> BSON? {
    switch wrapper {
    case .oid: operand.string.flatMap(objectID).map(BSON.objectID)
    case .symbol: operand.string.map(BSON.symbol)
    case .int: operand.string.flatMap { whole($0) }.map(BSON.int32)
    case .long: operand.string.flatMap { whole($0) }.map(BSON.int64)
    case .double: operand.string.flatMap(double)
    case .decimal: operand.string.flatMap { Decimal128($0) }.map(BSON.decimal)
    case .binary: operand.object.flatMap(binary)
    case .uuid: operand.string.flatMap(uuid)
    case .timestamp: operand.object.flatMap(timestamp)
    case .regex: operand.object.flatMap(regex)
    case .dbPointer: operand.object.flatMap(dbPointer)
    case .date: date(operand)
    case .code: operand.string.map { .javascript($0, scope: nil) }
    case .minKey: operand == 1 ? .minKey : nil
    case .maxKey: operand == 1 ? .maxKey : nil
    case .undefined: operand == true ? .undefined : nil
    }
  }

  private static func objectID(_ text: String) -> String? {
    guard text.utf8.count == 24, text.utf8.allSatisfy(\.isHexadecimalDigit) else { return nil }
    return text.lowercased()
  }

  /// Reads digits with an optional minus, and no plus.
  private static func whole<Value: FixedWidthInteger>(_ text: String) -> Value? {
    text.utf8.first == UInt8(ascii: "+") ? nil : Value(text)
  }

  private static func double(_ text: String) -> BSON? {
    switch text {
    case "NaN": return .double(BSONDouble(.nan))
    case "Infinity": return .double(BSONDouble(.infinity))
    case "-Infinity": return .double(BSONDouble(-.infinity))
    default:
      let isPlain = text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
          UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
          true
        default: false
        }
      }
      guard isPlain, let value = Double(text), value.isFinite else { return nil }
      return .double(BSONDouble(value))
    }
  }

  private static func binary(_ object: JSONObject) -> BSON? {
    guard object.count == 2, let base64 = object["base64"]?.string,
      let subtype = object["subType"]?.string, (1...2).contains(subtype.utf8.count),
      subtype.utf8.allSatisfy(\.isHexadecimalDigit), let subtype = UInt8(subtype, radix: 16),
      let bytes = [UInt8](paddedBase64: base64)
    else { return nil }
    return .binary(bytes, subtype: subtype)
  }

  private static func uuid(_ text: String) -> BSON? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
    return [UInt8](hexadecimal: groups.joined().utf8).map { .binary($0, subtype: 4) }
  }

  private static func timestamp(_ object: JSONObject) -> BSON? {
    guard object.count == 2, let seconds = object["t"]?.number.flatMap({ UInt32($0.text) }),
      let increment = object["i"]?.number.flatMap({ UInt32($0.text) })
    else { return nil }
    return .timestamp(seconds: seconds, increment: increment)
  }

  /// The option letters of regular expressions.
  ///
  /// - Source: bsonspec.org, version 1.1, "Regular expression".
  private static let regexOptions = Array("ilmsux".utf8)

  private static func regex(_ object: JSONObject) -> BSON? {
    guard object.count == 2, let pattern = object["pattern"]?.string,
      let options = object["options"]?.string, options.utf8.count <= regexOptions.count,
      options.utf8.allSatisfy({ regexOptions.contains($0) })
    else { return nil }
    // Each letter occurs at most once, so the sort is short.
    let letters = options.utf8.sorted()
    guard zip(letters, letters.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
    return .regularExpression(pattern: pattern, options: String(decoding: letters, as: UTF8.self))
  }

  private static func dbPointer(_ object: JSONObject) -> BSON? {
    guard object.count == 2, let collection = object["$ref"]?.string,
      let id = object["$id"]?.object, id.count == 1, let id = id["$oid"]?.string.flatMap(objectID)
    else { return nil }
    return .dbPointer(collection: collection, id: id)
  }

  private static func date(_ operand: JSON) -> BSON? {
    switch operand {
    case .string(let text):
      guard let time = CalendarTime(text), time.zone != nil else { return nil }
      return .date(Int64(time.seconds * 1_000 + time.nanoseconds / 1_000_000))
    case .object(let object):
      guard object.count == 1 else { return nil }
      return object["$numberLong"]?.string.flatMap { whole($0) }.map(BSON.date)
    default: return nil
    }
  }
}

/// Objects with the name of a wrapper that are not well-formed wrappers, such as `{"$oid": "x"}`.
///
/// This module treats them as documents. Strict readers of Extended JSON take them for values, and
/// some crash. So the APIs for such clients must reject them.
extension BSON {
  /// Returns the JSON pointer of the first malformed wrapper in a value, or nil.
  package static func malformedWrapper(in json: JSON) -> String? {
    switch json {
    case .null, .bool, .string, .number: return nil
    case .array(let elements):
      for (index, element) in elements.enumerated() {
        if let place = malformedWrapper(in: element) { return "/\(index)" + place }
      }
      return nil
    case .object(let object):
      if let value = Wrapper.value(of: object) {
        guard case .javascript(_, let scope?) = value else { return nil }
        return scope.malformedWrapper.map { "/$scope" + $0 }
      }
      for (name, member) in object {
        if Wrapper.named(name) != nil { return "" }
        if let place = malformedWrapper(in: member) {
          return "/" + JSONPointer.escaped(name) + place
        }
      }
      return nil
    }
  }

  fileprivate var malformedWrapper: String? {
    switch self {
    case .document(let document): document.malformedWrapper
    case .array(let elements): elements.malformedWrapper
    case .javascript(_, let scope): scope?.malformedWrapper.map { "/$scope" + $0 }
    default: nil
    }
  }
}

extension BSONArray {
  fileprivate var malformedWrapper: String? {
    if let source { return BSON.malformedWrapper(in: source) }
    for (index, element) in enumerated() {
      if let place = element.malformedWrapper { return "/\(index)" + place }
    }
    return nil
  }
}

extension BSONDocument {
  /// The JSON pointer of the first malformed wrapper, or nil.
  ///
  /// The top level is never a wrapper.
  package var malformedWrapper: String? {
    for field in self {
      if Wrapper.named(field.name.text) != nil { return "" }
      if let place = field.value.malformedWrapper {
        return "/" + JSONPointer.escaped(field.name.text) + place
      }
    }
    return nil
  }
}
