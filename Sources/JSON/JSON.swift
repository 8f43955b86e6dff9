/// A JSON value, with objects in the order of the text and numbers as they were spelled.
///
/// Of a text that was read, arrays and objects are places, whose parts are made when they are asked
/// for.
/// Two are equal when strings have the same bytes and numbers one value.
/// - Source: RFC 8259.
package enum JSON: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array(JSONArray)
  case object(JSONObject)

  package static func array(_ elements: [JSON]) -> JSON { .array(JSONArray(elements)) }

  package var string: String? {
    if case .string(let value) = self { return value }
    return nil
  }

  package var object: JSONObject? {
    if case .object(let value) = self { return value }
    return nil
  }

  package var array: JSONArray? {
    if case .array(let value) = self { return value }
    return nil
  }

  package var number: JSONNumber? {
    if case .number(let value) = self { return value }
    return nil
  }

  package var bool: Bool? {
    if case .bool(let value) = self { return value }
    return nil
  }

  /// A member; nil also when this is no object.
  package subscript(_ key: String) -> JSON? { object?[key] }
}

extension JSON: Equatable {
  package static func == (first: JSON, second: JSON) -> Bool {
    switch (first, second) {
    case (.null, .null): true
    case (.bool(let first), .bool(let second)): first == second
    case (.number(let first), .number(let second)): first == second
    case (.string(let first), .string(let second)): first.hasSameBytes(as: second)
    case (.array(let first), .array(let second)): first == second
    case (.object(let first), .object(let second)): first == second
    default: false
    }
  }
}

/// No `nil` literal: where a `JSON?` is meant, it would become `.null` without a word.
extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }

  package init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(JSONObject(elements))
  }
}
