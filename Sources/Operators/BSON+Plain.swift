package import JSON
import Encoding

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
