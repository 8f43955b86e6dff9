/// A JSON value that keeps the order of members and the spelling of numbers.
///
/// In a parsed value, arrays and objects are references into the text, and their parts are created
/// on access. Two values are equal if their strings have the same bytes and their numbers the same
/// value.
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

  /// Returns a member; nil if it is absent, or if this is not an object.
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

/// There is no `nil` literal: for a `JSON?`, it would silently become `.null`.
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
