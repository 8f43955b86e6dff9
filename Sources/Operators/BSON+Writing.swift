internal import FoundationEssentials
package import JSON

/// How values are written as Extended JSON.
package enum ExtendedJSONForm: Sendable {
  /// Every number in a wrapper, for clients that ask for types.
  case canonical
  /// Numbers plain, and dates of the years 1970 to 9999 as text. A small `$numberLong` reads back
  /// as an int32.
  case relaxed
  /// Relaxed where that reads back as the same type, else canonical. For storage, also in `jsonb`:
  /// it loses no type or digit and stays readable to clients that know JSON only.
  case stored
}

extension BSONDocument {
  /// The document as Extended JSON.
  package func json(_ form: ExtendedJSONForm) -> JSON {
    var object = JSONObject()
    for field in fields { object[field.name.text] = field.value.json(form) }
    return .object(object)
  }
}

extension BSON {
  /// The value as Extended JSON.
  ///
  /// - Source: MongoDB Extended JSON (v2), generators.
  package func json(_ form: ExtendedJSONForm) -> JSON {
    switch self {
    case .double(let value): Self.json(value, form)
    case .string(let value): .string(value)
    case .document(let value): value.json(form)
    case .array(let elements): .array(elements.map { $0.json(form) })
    case .binary(let bytes, let subtype):
      [
        "$binary": [
          "base64": .string(Data(bytes).base64EncodedString()),
          "subType": .string((subtype < 16 ? "0" : "") + String(subtype, radix: 16)),
        ]
      ]
    case .undefined: ["$undefined": true]
    case .objectID(let value): ["$oid": .string(value)]
    case .bool(let value): .bool(value)
    case .date(let value):
      form != .canonical && CalendarDate.readable.contains(value)
        ? ["$date": .string(CalendarDate(milliseconds: value).description)]
        : ["$date": ["$numberLong": .string(String(value))]]
    case .null: .null
    case .regularExpression(let pattern, let options):
      ["$regularExpression": ["pattern": .string(pattern), "options": .string(options)]]
    case .dbPointer(let collection, let id):
      ["$dbPointer": ["$ref": .string(collection), "$id": ["$oid": .string(id)]]]
    case .javascript(let code, let scope?):
      ["$code": .string(code), "$scope": scope.json(form)]
    case .javascript(let code, nil): ["$code": .string(code)]
    case .symbol(let value): ["$symbol": .string(value)]
    case .int32(let value):
      form == .canonical
        ? ["$numberInt": .string(String(value))] : .number(JSONNumber(Int(value)))
    case .timestamp(let seconds, let increment):
      [
        "$timestamp": [
          "t": .number(JSONNumber(Int(seconds))), "i": .number(JSONNumber(Int(increment))),
        ]
      ]
    case .int64(let value):
      form == .canonical || (form == .stored && Int32(exactly: value) != nil)
        ? ["$numberLong": .string(String(value))] : .number(JSONNumber(Int(value)))
    case .decimal(let value): ["$numberDecimal": .string(value.description)]
    case .minKey: ["$minKey": 1]
    case .maxKey: ["$maxKey": 1]
    }
  }

  private static func json(_ number: BSONDouble, _ form: ExtendedJSONForm) -> JSON {
    let value = number.value
    let plain: String? =
      switch form {
      case .canonical: nil
      // Also one beyond all doubles, which other doors of the service take.
      case .relaxed: number.spelling ?? (value.isFinite ? value.description : nil)
      case .stored: number.storedText
      }
    if let plain { return .number(JSONNumber(plain)) }
    let name = value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity"
    return ["$numberDouble": .string(value.isFinite ? value.description : name)]
  }

  /// About how long the value is as JSON; that escapes are longer is not counted.
  var size: Int {
    switch self {
    case .string(let text), .symbol(let text): text.utf8.count + 16
    case .document(let document):
      document.fields.reduce(2) { $0 + $1.name.text.utf8.count + 4 + $1.value.size }
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

  /// Arrays and objects within each other, in the form for storage.
  var depth: Int {
    switch self {
    case .document(let document): 1 + (document.fields.map(\.value.depth).max() ?? 0)
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .binary, .dbPointer, .regularExpression, .timestamp: 2
    case .date(let value): CalendarDate.readable.contains(value) ? 1 : 2
    case .javascript(_, let scope): 1 + (scope.map { BSON.document($0).depth } ?? 0)
    case .int64(let value): Int32(exactly: value) == nil ? 0 : 1
    case .double(let number): number.storedText == nil ? 1 : 0
    case .undefined, .objectID, .symbol, .decimal, .minKey, .maxKey: 1
    case .null, .bool, .string, .int32: 0
    }
  }
}
