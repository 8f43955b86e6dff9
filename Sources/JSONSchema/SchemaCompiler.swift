import JSON

/// Reads a schema, part by part.
struct SchemaCompiler {
  private(set) var subschemas: [Subschema] = []
  /// By their pointers.
  private var places: [ExactString: Int] = [:]
  private var anchors: [ExactString: Int] = [:]
  private var references: [Reference] = []
  var patterns = 0
  private var pointerBytes = 0

  /// A `$ref` whose target may come later.
  private struct Reference {
    let owner: Int
    let text: String
    let pointer: String
  }

  private static let countLimit = 2_048
  /// Of all pointers together: a long key above many subschemas is in each.
  private static let pointerLimit = 1_048_576

  mutating func add(
    _ json: JSON,
    at pointer: String,
    in keyword: Keyword?
  ) throws(SchemaError) -> Int {
    let index = subschemas.count
    pointerBytes += pointer.utf8.count
    guard index < Self.countLimit, pointerBytes <= Self.pointerLimit else {
      throw SchemaError(
        pointer,
        "limit",
        "A schema has at most \(Self.countLimit) subschemas, and no long keys above many."
      )
    }
    subschemas.append(Subschema(pointer: pointer))
    places[ExactString(pointer)] = index
    switch json {
    case .bool(true): break
    case .bool(false): subschemas[index].content = .never(keyword)
    case .object(let object):
      subschemas[index].content = .tests(try tests(of: object, index, pointer))
    default: throw SchemaError(pointer, "type", "A schema is an object, true or false.")
    }
    return index
  }

  private mutating func tests(
    of object: JSONObject,
    _ index: Int,
    _ pointer: String
  ) throws(SchemaError) -> [Test] {
    var tests: [Test] = []
    for (name, value) in object {
      let place = "\(pointer)/\(JSONPointer.escaped(name))"
      guard let keyword = Keyword(rawValue: name) else {
        if let advice = Keyword.refused[name] {
          throw SchemaError(place, "unsupported_keyword", "\(name) is not supported. \(advice)")
        }
        throw SchemaError(place, "unknown_keyword", "There is no such keyword in draft 2020-12.")
      }
      let member = Member(keyword, value, place, object, pointer)
      if let test = try test(member, of: index) { tests.append(test) }
    }
    return tests
  }

  private mutating func test(_ member: Member, of index: Int) throws(SchemaError) -> Test? {
    switch member.keyword {
    case .schema, .id, .anchor, .definitions, .reference: return try core(member, of: index)
    case .allOf, .anyOf, .oneOf, .not, .condition, .then, .otherwise, .dependentSchemas,
      .prefixItems, .items, .contains, .minContains, .maxContains, .properties,
      .patternProperties, .additionalProperties, .propertyNames:
      return try applicator(member)
    case .pattern: return member.test(.pattern(try pattern(try member.text(), member.pointer)))
    default: return try member.assertion()
    }
  }

  // MARK: Core

  private static let draft = "https://json-schema.org/draft/2020-12/schema"

  private mutating func core(_ member: Member, of index: Int) throws(SchemaError) -> Test? {
    switch member.keyword {
    case .definitions: _ = try parts(member)
    case .reference:
      references.append(
        Reference(owner: index, text: try member.text(), pointer: member.pointer)
      )
      // Its target is put in when all is read.
      return member.test(.reference(index))
    case .anchor:
      let name = try member.text()
      guard Self.isAnchor(name) else {
        throw member.error("anchor", "An anchor is a name such as address, in ASCII.")
      }
      guard anchors.updateValue(index, forKey: ExactString(name)) == nil else {
        throw member.error("anchor", "The anchor \(name) is there twice.")
      }
    case .schema, .id:
      let text = try member.text()
      guard index == 0 else {
        throw member.error(
          "unsupported_keyword",
          "\(member.keyword.rawValue) is only taken at the root."
        )
      }
      if member.keyword == .schema, text != Self.draft, text != Self.draft + "#" {
        throw member.error("unsupported_keyword", "$schema is \(Self.draft) or absent.")
      }
    default: break
    }
    return nil
  }

  /// - Source: the core specification, section 8.2.2.
  private static func isAnchor(_ name: String) -> Bool {
    guard let first = name.utf8.first, !"-.0123456789".utf8.contains(first) else { return false }
    return name.unicodeScalars.allSatisfy { scalar in
      switch scalar {
      case "A"..."Z", "a"..."z", "0"..."9", "_", "-", ".": true
      default: false
      }
    }
  }

  /// Finds the targets of references, and refuses those that lead nowhere or in a circle.
  mutating func resolveReferences() throws(SchemaError) {
    for reference in references {
      guard reference.text.hasPrefix("#") else {
        throw SchemaError(
          reference.pointer,
          "reference",
          "A reference is within the schema: #, #/$defs/name or #anchor."
        )
      }
      guard let target = target(of: reference.text.dropFirst()) else {
        throw SchemaError(reference.pointer, "reference", "There is no schema at this reference.")
      }
      guard case .tests(var tests) = subschemas[reference.owner].content,
        let position = tests.firstIndex(where: { $0.keyword == .reference })
      else { continue }
      tests[position].rule = .reference(target)
      subschemas[reference.owner].content = .tests(tests)
    }
    var states = [State](repeating: .new, count: subschemas.count)
    for reference in references { try visit(reference.owner, &states, reference.pointer) }
  }

  private func target(of fragment: Substring) -> Int? {
    guard let text = Self.percentDecoded(fragment) else { return nil }
    if let anchor = anchors[ExactString(text)] { return anchor }
    guard let pointer = JSONPointer(text) else { return nil }
    return places[ExactString(pointer.description)]
  }

  private static func percentDecoded(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let value = UInt8(String(Substring(rest.prefix(2))), radix: 16) else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }

  private enum State { case new, open, done }

  /// A way back to itself that leaves the value where it is would never end.
  ///
  /// `pointer` is to the last reference on the way, which is part of a circle that is found.
  private func visit(
    _ index: Int,
    _ states: inout [State],
    _ pointer: String
  ) throws(SchemaError) {
    guard states[index] != .open else {
      throw SchemaError(
        pointer,
        "cycle",
        "The reference leads back to itself without going into the value."
      )
    }
    guard states[index] == .new else { return }
    states[index] = .open
    let own = subschemas[index]
    let last = own.isReference ? "\(own.pointer)/\(Keyword.reference.rawValue)" : pointer
    for next in own.besides { try visit(next, &states, last) }
    states[index] = .done
  }
}
