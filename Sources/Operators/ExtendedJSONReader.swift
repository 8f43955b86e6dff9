internal import FoundationEssentials
package import JSON

extension BSON {
  /// Reads MongoDB Extended JSON, relaxed or canonical.
  ///
  /// Whole numbers become the smallest integer that holds them, others doubles. A wrapper such as
  /// `$oid` must be well formed; other names that begin with a dollar are left as data.
  /// - Throws: `.failedToParse`, or `.overflow` when it is more than 64 deep; with the pointer.
  /// - Source: MongoDB Extended JSON (v2), parsers.
  package init(_ json: JSON) throws(OperatorError) {
    var reader = ExtendedJSONReader()
    self = try reader.value(json)
  }
}

extension BSONDocument {
  /// Reads a document from MongoDB Extended JSON; see `BSON`.
  package init(_ json: JSON) throws(OperatorError) {
    guard case .document(let document) = try BSON(json) else {
      throw OperatorError(.failedToParse, "A document is an object.")
    }
    self = document
  }
}

struct ExtendedJSONReader {
  private var path: [String] = []

  /// - Parameter path: tokens of the pointer to what is read, for errors.
  init(at path: [String] = []) { self.path = path }

  mutating func value(_ json: JSON, depth: Int = 1) throws(OperatorError) -> BSON {
    switch json {
    case .null: return .null
    case .bool(let value): return .bool(value)
    case .string(let value): return .string(value)
    case .number(let number): return Self.number(number)
    case .array(let elements):
      try check(depth)
      var values: [BSON] = []
      values.reserveCapacity(elements.count)
      for (index, element) in elements.enumerated() {
        path.append(String(index))
        values.append(try value(element, depth: depth + 1))
        path.removeLast()
      }
      return .array(values)
    case .object(let object):
      try check(depth)
      if let wrapper = Wrapper.first(in: object) { return try unwrap(wrapper, object, depth) }
      return .document(try document(object, depth))
    }
  }

  private mutating func document(
    _ object: JSONObject,
    _ depth: Int
  ) throws(OperatorError) -> BSONDocument {
    var document = BSONDocument()
    for (name, member) in object {
      path.append(name)
      document.append(FieldName(name), try value(member, depth: depth + 1))
      path.removeLast()
    }
    return document
  }

  private func check(_ depth: Int) throws(OperatorError) {
    guard depth <= JSONLimits.standard.depth else {
      throw error("Arrays and objects may be \(JSONLimits.standard.depth) deep.", .overflow)
    }
  }

  private static func number(_ number: JSONNumber) -> BSON {
    if let value = Int32(number.text) { return .int32(value) }
    if let value = Int64(number.text) { return .int64(value) }
    return .double(BSONDouble(number.double ?? 0, spelling: number.text))
  }

  private func error(_ detail: String, _ code: OperatorError.Code = .failedToParse) -> OperatorError
  {
    OperatorError(code, detail, pointer: JSONPointer(tokens: path).description)
  }

  // MARK: Wrappers

  private enum Wrapper: String {
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

    static func first(in object: JSONObject) -> Wrapper? {
      for (key, _) in object where key.utf8.first == UInt8(ascii: "$") {
        if let wrapper = Wrapper(rawValue: key) { return wrapper }
      }
      return nil
    }
  }

  private mutating func unwrap(
    _ wrapper: Wrapper,
    _ object: JSONObject,
    _ depth: Int
  ) throws(OperatorError) -> BSON {
    guard let operand = object[wrapper.rawValue] else { return .null }
    if wrapper == .code { return try code(operand, object, depth) }
    guard object.count == 1, let value = Self.value(wrapper, operand) else {
      throw error("This is no well-formed \(wrapper.rawValue).")
    }
    return value
  }

  private mutating func code(
    _ operand: JSON,
    _ object: JSONObject,
    _ depth: Int
  ) throws(OperatorError) -> BSON {
    guard let text = operand.string else { throw error("The value of $code must be a string.") }
    guard object.count > 1 else { return .javascript(text, scope: nil) }
    guard object.count == 2, let scope = object["$scope"]?.object else {
      throw error("Next to $code there may only be an object $scope.")
    }
    path.append("$scope")
    defer { path.removeLast() }
    return .javascript(text, scope: try document(scope, depth + 1))
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
    case .minKey: operand == 1 ? .minKey : nil
    case .maxKey: operand == 1 ? .maxKey : nil
    case .undefined: operand == true ? .undefined : nil
    case .code: nil
    }
  }

  private static func objectID(_ text: String) -> String? {
    guard text.utf8.count == 24, text.utf8.allSatisfy({ isHexadecimal($0) }) else { return nil }
    return text.lowercased()
  }

  private static func isHexadecimal(_ byte: UInt8) -> Bool {
    Character(Unicode.Scalar(byte)).isHexDigit && byte < 0x80
  }

  /// Digits with at most a minus.
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
      subtype.utf8.allSatisfy({ isHexadecimal($0) }), let subtype = UInt8(subtype, radix: 16),
      let bytes = Data(base64Encoded: base64)
    else { return nil }
    return .binary(Array(bytes), subtype: subtype)
  }

  private static func uuid(_ text: String) -> BSON? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12] else { return nil }
    let digits = groups.joined().utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
    guard digits.count == 32 else { return nil }
    let bytes = stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    return .binary(bytes, subtype: 4)
  }

  private static func timestamp(_ object: JSONObject) -> BSON? {
    guard object.count == 2, let seconds = object["t"]?.number.flatMap({ UInt32($0.text) }),
      let increment = object["i"]?.number.flatMap({ UInt32($0.text) })
    else { return nil }
    return .timestamp(seconds: seconds, increment: increment)
  }

  private static func regex(_ object: JSONObject) -> BSON? {
    guard object.count == 2, let pattern = object["pattern"]?.string,
      let options = object["options"]?.string
    else { return nil }
    return .regularExpression(pattern: pattern, options: String(options.sorted()))
  }

  private static func dbPointer(_ object: JSONObject) -> BSON? {
    guard object.count == 2, let collection = object["$ref"]?.string,
      let id = object["$id"]?.object, id.count == 1, let id = id["$oid"]?.string.flatMap(objectID)
    else { return nil }
    return .dbPointer(collection: collection, id: id)
  }

  private static func date(_ operand: JSON) -> BSON? {
    switch operand {
    case .string(let text): return CalendarDate(text).map { .date($0.milliseconds) }
    case .object(let object):
      guard object.count == 1 else { return nil }
      return object["$numberLong"]?.string.flatMap { whole($0) }.map(BSON.date)
    default: return nil
    }
  }
}
