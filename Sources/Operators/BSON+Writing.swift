package import JSON
import Encoding

/// The forms of Extended JSON that can be written.
package enum ExtendedJSONForm: Sendable {
  /// Every number has a wrapper, for clients that need the types.
  case canonical
  /// Numbers are plain, and dates of the years 1970 to 9999 are text.
  ///
  /// A small `$numberLong` is read back as an int32.
  case relaxed
  /// Relaxed if that reads back as the same type, otherwise canonical.
  ///
  /// This form is for storage, also in `jsonb`. It keeps every type and digit, and remains readable
  /// to clients that know only JSON.
  case stored
}

extension BSONDocument {
  /// Returns the document as Extended JSON.
  package func json(_ form: ExtendedJSONForm) -> JSON { BSON.document(self).json(form) }

  /// Returns the document as the text of Extended JSON.
  package func serialized(_ form: ExtendedJSONForm) -> [UInt8] {
    var writer = JSONWriter()
    BSON.document(self).write(form, to: &writer)
    return writer.bytes
  }
}

extension BSON {
  /// Returns the value as Extended JSON.
  package func json(_ form: ExtendedJSONForm) -> JSON {
    var writer = JSONWriter()
    write(form, to: &writer)
    // The writer produces valid JSON.
    return (try? JSON.parse(writer.bytes, limits: .none)) ?? .null
  }

  /// Writes the value as Extended JSON.
  ///
  /// - Source: MongoDB Extended JSON (v2), generators.
  fileprivate func write(_ form: ExtendedJSONForm, to writer: inout JSONWriter) {
    switch self {
    case .double(let value): Self.write(value, form, to: &writer)
    case .string(let value): writer.string(value)
    case .document(let document):
      writer.beginObject()
      for field in document {
        writer.key(field.name.text)
        field.value.write(form, to: &writer)
      }
      writer.endObject()
    case .array(let elements):
      writer.beginArray()
      for element in elements { element.write(form, to: &writer) }
      writer.endArray()
    case .bool(let value): writer.word(value ? "true" : "false")
    case .null: writer.word("null")
    case .int32(let value) where form != .canonical: writer.word(String(value))
    case .int64(let value)
    where form == .relaxed || form == .stored && Int32(exactly: value) == nil:
      writer.word(String(value))
    case .javascript(let code, let scope?):
      writer.beginObject()
      writer.key("$code")
      writer.string(code)
      writer.key("$scope")
      BSON.document(scope).write(form, to: &writer)
      writer.endObject()
    default: writer.value(wrapper(form))
    }
  }

  /// The years 1970 to 9999, which relaxed Extended JSON writes as text.
  private static let readableDates: Range<Int64> = 0..<253_402_300_800_000

  /// Returns a date in the form `2012-12-24T12:15:30.501Z`, with three fractional digits or none.
  static func text(ofDate milliseconds: Int64) -> String {
    let (seconds, rest) = Int(milliseconds).dividedDown(by: 1_000)
    let text = CalendarTime(seconds: seconds, nanoseconds: 0).text
    return rest == 0 ? text + "Z" : text + "." + String(1_000 + rest).dropFirst() + "Z"
  }

  /// Returns the wrapper object of a value whose type JSON lacks.
  private func wrapper(_ form: ExtendedJSONForm) -> JSON {
    switch self {
    case .binary(let bytes, let subtype):
      [
        "$binary": [
          "base64": .string(bytes.paddedBase64),
          "subType": .string(String(hexadecimal: [subtype])),
        ]
      ]
    case .undefined: ["$undefined": true]
    case .objectID(let value): ["$oid": .string(value)]
    case .date(let value):
      form != .canonical && Self.readableDates.contains(value)
        ? ["$date": .string(Self.text(ofDate: value))]
        : ["$date": ["$numberLong": .string(String(value))]]
    case .regularExpression(let pattern, let options):
      ["$regularExpression": ["pattern": .string(pattern), "options": .string(options)]]
    case .dbPointer(let collection, let id):
      ["$dbPointer": ["$ref": .string(collection), "$id": ["$oid": .string(id)]]]
    case .javascript(let code, _): ["$code": .string(code)]
    case .symbol(let value): ["$symbol": .string(value)]
    case .int32(let value): ["$numberInt": .string(String(value))]
    case .timestamp(let seconds, let increment):
      [
        "$timestamp": [
          "t": .number(JSONNumber(Int(seconds))), "i": .number(JSONNumber(Int(increment))),
        ]
      ]
    case .int64(let value): ["$numberLong": .string(String(value))]
    case .decimal(let value): ["$numberDecimal": .string(value.description)]
    case .minKey: ["$minKey": 1]
    case .maxKey: ["$maxKey": 1]
    case .double, .string, .document, .array, .bool, .null: .null
    }
  }

  private static func write(
    _ number: BSONDouble, _ form: ExtendedJSONForm, to writer: inout JSONWriter
  ) {
    let value = number.value
    let plain: String? =
      switch form {
      case .canonical: nil
      // Other APIs of the service also accept a number beyond all doubles.
      case .relaxed: number.spelling ?? (value.isFinite ? value.description : nil)
      case .stored: number.storedText
      }
    if let plain { return writer.word(plain) }
    let name = value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
    writer.value(["$numberDouble": .string(value.isFinite ? value.description : name)])
  }

  /// The approximate length of the value as JSON.
  ///
  /// Longer forms of escaped characters are not counted.
  var size: Int {
    switch self {
    case .string(let text), .symbol(let text): text.utf8.count + 16
    case .document(let document):
      document.reduce(2) { $0 + $1.name.text.utf8.count + 4 + $1.value.size }
    case .array(let elements): elements.reduce(2) { $0 + 1 + $1.size }
    case .binary(let bytes, _): bytes.count * 4 / 3 + 48
    case .javascript(let code, let scope):
      code.utf8.count + 24 + (scope.map { BSON.document($0).size } ?? 0)
    case .regularExpression(let pattern, let options):
      pattern.utf8.count + options.utf8.count + 52
    case .dbPointer(let collection, _): collection.utf8.count + 72
    case .null, .bool, .int32: 8
    default: 40
    }
  }

  /// The number of nested arrays and objects, in the form for storage.
  var depth: Int {
    switch self {
    case .document(let document): 1 + (document.map(\.value.depth).max() ?? 0)
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .binary, .dbPointer, .regularExpression, .timestamp: 2
    case .date(let value): Self.readableDates.contains(value) ? 1 : 2
    case .javascript(_, let scope): 1 + (scope.map { BSON.document($0).depth } ?? 0)
    case .int64(let value): Int32(exactly: value) == nil ? 0 : 1
    case .double(let number): number.storedText == nil ? 1 : 0
    case .undefined, .objectID, .symbol, .decimal, .minKey, .maxKey: 1
    case .null, .bool, .string, .int32: 0
    }
  }
}
