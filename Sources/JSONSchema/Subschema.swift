import JSON
import Patterns

/// A schema or subschema; others refer to it by its index.
struct Subschema: Sendable {
  /// The location in the whole schema.
  let pointer: String
  /// The index of the resource that contains it.
  let resource: Int
  var content = Content.tests([])

  enum Content: Sendable {
    /// `false`, with the keyword that contains it.
    case never(Keyword?)
    /// The tests; empty for `true`.
    case tests([Test])
  }

  /// The keyword of its reference to another schema; nil without a reference.
  var reference: Keyword? {
    guard case .tests(let tests) = content else { return nil }
    return tests.lazy.map(\.keyword).first { $0 == .reference || $0 == .dynamicReference }
  }

  /// The schemas that are applied to the same value as this one.
  var besides: [Int] {
    guard case .tests(let tests) = content else { return [] }
    return tests.flatMap { test -> [Int] in
      switch test.rule {
      case .all(let parts), .any(let parts), .one(let parts): parts
      case .not(let part), .reference(let part): [part]
      case .dynamicReference(let first, _): [first]
      case .condition(let first, let second, let third): [first, second, third].compactMap(\.self)
      case .dependentSchemas(let parts): parts.map(\.schema)
      default: []
      }
    }
  }
}

/// A condition on a value, and the message for its violation.
struct Test: Sendable {
  let keyword: Keyword
  var rule: Rule
  var detail = ""
}

enum Rule: Sendable {
  case kinds(Kinds)
  /// Allowed values in canonical form, with the length of the longest in bytes.
  case values(Set<[UInt8]>, longest: Int)
  case minimum(JSONNumber)
  case exclusiveMinimum(JSONNumber)
  case maximum(JSONNumber)
  case exclusiveMaximum(JSONNumber)
  case multiple(JSONNumber)
  case atLeast(Measure, Int)
  case atMost(Measure, Int)
  case pattern(Pattern)
  case elements(first: [Int], others: Int?)
  case contains(Int, least: Int, most: Int)
  case unique
  case members(named: [ByteString: Int], matching: [(pattern: Pattern, schema: Int)], others: Int?)
  case names(Int)
  case required([String])
  case dependentRequired([(name: String, needed: [String])])
  case dependentSchemas([(name: String, schema: Int)])
  case all([Int])
  case any([Int])
  case one([Int])
  case not(Int)
  case condition(Int, then: Int?, otherwise: Int?)
  case reference(Int)
  /// The initial schema, and those that replace it, by the resources that are entered.
  case dynamicReference(Int, others: [Int: Int])
  /// The schema for elements that no sibling keyword has evaluated.
  case leftElements(Int)
  case leftMembers(Int)
}

/// A property of a value that can be counted.
enum Measure: Sendable {
  case characters, elements, members
}

/// A set of value types.
struct Kinds: OptionSet {
  let rawValue: UInt8

  static let null = Kinds(rawValue: 1)
  static let boolean = Kinds(rawValue: 2)
  static let integer = Kinds(rawValue: 4)
  static let number = Kinds(rawValue: 8)
  static let string = Kinds(rawValue: 16)
  static let array = Kinds(rawValue: 32)
  static let object = Kinds(rawValue: 64)

  static let names: [(name: String, kind: Kinds)] = [
    ("null", .null), ("boolean", .boolean), ("integer", .integer), ("number", .number),
    ("string", .string), ("array", .array), ("object", .object),
  ]

  func includesKind(of value: JSON) -> Bool {
    switch value {
    case .null: contains(.null)
    case .bool: contains(.boolean)
    case .number(let number): contains(.number) || contains(.integer) && number.isInteger
    case .string: contains(.string)
    case .array: contains(.array)
    case .object: contains(.object)
    }
  }
}
