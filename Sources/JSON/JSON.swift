/// A JSON value, with objects in the order of the text and numbers as they were spelled.
///
/// Two are equal when strings have the same bytes and numbers one value.
/// - Source: RFC 8259.
package enum JSON: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array([JSON])
  case object(JSONObject)

  package var string: String? {
    if case .string(let value) = self { return value }
    return nil
  }

  package var object: JSONObject? {
    if case .object(let value) = self { return value }
    return nil
  }

  package var array: [JSON]? {
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
    var object = JSONObject()
    for (key, value) in elements { object[key] = value }
    self = .object(object)
  }
}

/// The members of an object, in order.
///
/// Keys differ when their bytes do, as PostgreSQL compares them: `é` in one scalar and in two are
/// two keys, though Swift's strings are equal.
package struct JSONObject: Sendable, Sequence {
  private var members: [(key: String, value: JSON)?] = []
  private var index: [ExactString: Int] = [:]
  package private(set) var count = 0

  /// Up to here a look through all is faster than hashing.
  private static let linearLimit = 8

  package init() {}

  /// Setting nil removes; a new member comes last.
  package subscript(_ key: String) -> JSON? {
    get { position(of: key).flatMap { members[$0]?.value } }
    set {
      switch (position(of: key), newValue) {
      case (let position?, let value?): members[position] = (key, value)
      case (let position?, nil): remove(at: position, key)
      case (nil, let value?): append(key, value)
      case (nil, nil): break
      }
    }
  }

  /// Takes a value out to be changed where it alone is held; null is left until it is put back.
  mutating func take(_ key: String) -> JSON? {
    guard let position = position(of: key), let value = members[position]?.value else { return nil }
    members[position]?.value = .null
    return value
  }

  package var keys: [String] { members.compactMap { $0?.key } }

  package func makeIterator() -> some IteratorProtocol<(key: String, value: JSON)> {
    members.lazy.compactMap(\.self).makeIterator()
  }

  private func position(of key: String) -> Int? {
    if index.isEmpty {
      return members.firstIndex { $0.map { $0.key.hasSameBytes(as: key) } ?? false }
    }
    return index[ExactString(key)]
  }

  private mutating func append(_ key: String, _ value: JSON) {
    members.append((key, value))
    count += 1
    if !index.isEmpty {
      index[ExactString(key)] = members.count - 1
    } else if members.count > Self.linearLimit {
      for (position, member) in members.enumerated() {
        if let member { index[ExactString(member.key)] = position }
      }
    }
  }

  private mutating func remove(at position: Int, _ key: String) {
    members[position] = nil
    index[ExactString(key)] = nil
    count -= 1
    if count == 0 { self = JSONObject() }
  }
}

extension JSONObject: Equatable {
  /// The order of members does not count.
  package static func == (first: JSONObject, second: JSONObject) -> Bool {
    first.count == second.count && first.allSatisfy { second[$0.key] == $0.value }
  }
}
