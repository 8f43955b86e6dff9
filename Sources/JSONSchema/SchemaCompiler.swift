import JSON
import Patterns

/// Compiles a schema, part by part.
struct SchemaCompiler {
  /// Returns the plain JSON that represents a value of `const` or `enum`.
  private let plain: (JSON) -> JSON
  var subschemas: [Subschema] = []
  /// The subschemas by their pointers.
  private(set) var places: [ByteString: Int] = [:]
  var resources = SchemaResources()
  /// The resource that contains the current schema.
  private var resource = 0
  private(set) var references: [Reference] = []
  var patterns = 0
  private var pointerBytes = 0
  /// Whether any schema has an `unevaluated…` keyword.
  var hasLeftovers = false

  /// A `$ref` or `$dynamicRef` whose target may come later.
  struct Reference {
    let keyword: Keyword
    let owner: Int
    let text: String
    let pointer: String
  }

  init(plain: @escaping (JSON) -> JSON) { self.plain = plain }

  private static let countLimit = 2_048
  /// The total length of all pointers: a long key above many subschemas is in each.
  private static let pointerLimit = 1_048_576

  mutating func add(
    _ json: JSON, at pointer: String, in keyword: Keyword?
  ) throws(SchemaError) -> Int {
    let index = subschemas.count
    pointerBytes += pointer.utf8.count
    guard index < Self.countLimit, pointerBytes <= Self.pointerLimit else {
      throw SchemaError(
        pointer,
        "limit",
        "A schema may have at most \(Self.countLimit) subschemas, and their JSON Pointers at most "
          + "\(Self.pointerLimit) bytes together: use fewer subschemas or shorter keys."
      )
    }
    let outer = resource
    defer { resource = outer }
    let id = json[Keyword.id.rawValue]
    if index == 0 || id != nil {
      resource = try resources.open(id, at: pointer, schema: index, within: outer)
    }
    subschemas.append(Subschema(pointer: pointer, resource: resource))
    places[ByteString(pointer)] = index
    switch json {
    case .bool(true): break
    case .bool(false): subschemas[index].content = .never(keyword)
    case .object(let object):
      subschemas[index].content = .tests(try tests(of: object, index, pointer))
    default: throw SchemaError(pointer, "type", "A schema must be an object, true or false.")
    }
    return index
  }

  private mutating func tests(
    of object: JSONObject, _ index: Int, _ pointer: String
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
      let isValue = keyword == .const || keyword == .values
      let member = Member(keyword, isValue ? plain(value) : value, place, object, pointer)
      if let test = try test(member, of: index) { tests.append(test) }
    }
    return tests.filter { !$0.keyword.isUnevaluated } + tests.filter { $0.keyword.isUnevaluated }
  }

  private mutating func test(_ member: Member, of index: Int) throws(SchemaError) -> Test? {
    switch member.keyword {
    case .schema, .id, .anchor, .dynamicAnchor, .definitions, .reference, .dynamicReference:
      return try core(member, of: index)
    case .allOf, .anyOf, .oneOf, .not, .condition, .then, .otherwise, .dependentSchemas,
      .prefixItems, .items, .contains, .minContains, .maxContains, .properties,
      .patternProperties, .additionalProperties, .propertyNames, .unevaluatedItems,
      .unevaluatedProperties, .contentSchema:
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
    case .reference, .dynamicReference:
      references.append(
        Reference(
          keyword: member.keyword, owner: index, text: try member.text(), pointer: member.pointer
        )
      )
      // The target is resolved after the whole schema has been compiled.
      return member.test(.reference(index))
    case .anchor, .dynamicAnchor:
      try resources.name(index, by: member, in: resource)
    case .schema:
      let text = try member.text()
      guard resources.isRoot(index) else {
        throw member.error("unsupported_keyword", "$schema must be at the root, or beside an $id.")
      }
      if text != Self.draft, text != Self.draft + "#" {
        throw member.error("unsupported_keyword", "$schema must be \(Self.draft) or absent.")
      }
    // The keywords of a resource have been compiled before all others.
    default: break
    }
    return nil
  }
}

/// Keywords that contain schemas.
extension SchemaCompiler {
  /// The most patterns; each may take some hundred kilobytes when it is compiled.
  private static let patternLimit = 64

  mutating func applicator(_ member: Member) throws(SchemaError) -> Test? {
    switch member.keyword {
    case .allOf: return member.test(.all(try list(member)))
    case .anyOf: return member.test(.any(try list(member)), "This fits none of the alternatives.")
    case .oneOf:
      return member.test(.one(try list(member)), "This must fit one alternative, and no other.")
    case .not:
      return member.test(.not(try part(member)), "This must not match the schema under `not`.")
    case .condition:
      return member.test(
        .condition(
          try part(member), then: try sibling(.then, of: member),
          otherwise: try sibling(.otherwise, of: member)
        )
      )
    case .then, .otherwise:
      // Compiled with `if`. Without it, they are only targets of references.
      if member.siblings[Keyword.condition.rawValue] == nil { _ = try part(member) }
    case .contentSchema: _ = try part(member)
    case .dependentSchemas:
      return member.test(.dependentSchemas(try parts(member).map { (name: $0, schema: $1) }))
    case .prefixItems:
      return member.test(
        .elements(first: try list(member), others: try sibling(.items, of: member))
      )
    case .items:
      // `prefixItems` compiles it too, if present.
      guard member.siblings["prefixItems"] == nil else { return nil }
      guard member.value.array == nil else {
        throw member.error("type", "Use prefixItems for a list of schemas: this is draft 2020-12.")
      }
      return member.test(.elements(first: [], others: try part(member)))
    case .contains:
      let least = try member.sibling(.minContains)?.count() ?? 1
      let most = try member.sibling(.maxContains)?.count() ?? .max
      return member.test(
        .contains(try part(member), least: least, most: most),
        most == .max
          ? "At least \(least) of the elements must fit contains."
          : "From \(least) to \(most) of the elements must fit contains."
      )
    case .minContains, .maxContains: _ = try member.count()
    case .unevaluatedItems:
      hasLeftovers = true
      return member.test(.leftElements(try part(member)))
    case .unevaluatedProperties:
      hasLeftovers = true
      return member.test(.leftMembers(try part(member)))
    case .propertyNames: return member.test(.names(try part(member)))
    case .properties, .patternProperties, .additionalProperties: return try members(member)
    default: break
    }
    return nil
  }

  /// Compiles the three keywords of members at the first one that is present.
  private mutating func members(_ member: Member) throws(SchemaError) -> Test? {
    let keywords = [Keyword.properties, .patternProperties, .additionalProperties]
    let present = keywords.filter { member.siblings[$0.rawValue] != nil }
    guard present.first == member.keyword else { return nil }
    var named: [ByteString: Int] = [:]
    if let properties = member.sibling(.properties) {
      for (name, schema) in try parts(properties) { named[ByteString(name)] = schema }
    }
    var matching: [(pattern: Pattern, schema: Int)] = []
    if let properties = member.sibling(.patternProperties) {
      for (name, schema) in try parts(properties) {
        let pointer = "\(properties.pointer)/\(JSONPointer.escaped(name))"
        matching.append((try pattern(name, pointer), schema))
      }
    }
    let others = try sibling(.additionalProperties, of: member)
    return member.test(.members(named: named, matching: matching, others: others))
  }

  mutating func pattern(_ source: String, _ pointer: String) throws(SchemaError) -> Pattern {
    patterns += 1
    guard patterns <= Self.patternLimit else {
      throw SchemaError(
        pointer, "limit", "A schema may have at most \(Self.patternLimit) regular expressions."
      )
    }
    do throws(PatternError) {
      return try Pattern(source, dialect: .ecmaScript)
    } catch {
      guard case .syntax(let detail) = error else {
        throw SchemaError(pointer, "pattern", "The regular expression is not supported.")
      }
      throw SchemaError(pointer, "pattern", detail)
    }
  }

  // MARK: Parts

  private mutating func part(_ member: Member) throws(SchemaError) -> Int {
    try add(member.value, at: member.pointer, in: member.keyword)
  }

  private mutating func sibling(_ keyword: Keyword, of member: Member) throws(SchemaError) -> Int? {
    guard let sibling = member.sibling(keyword) else { return nil }
    return try part(sibling)
  }

  private mutating func list(_ member: Member) throws(SchemaError) -> [Int] {
    guard let elements = member.value.array, !elements.isEmpty else {
      throw member.error("type", "This must be a list of at least one schema.")
    }
    var indexes: [Int] = []
    for (index, element) in elements.enumerated() {
      indexes.append(try add(element, at: "\(member.pointer)/\(index)", in: member.keyword))
    }
    return indexes
  }

  mutating func parts(_ member: Member) throws(SchemaError) -> [(String, Int)] {
    guard let object = member.value.object else {
      throw member.error("type", "This must be an object of schemas.")
    }
    var indexes: [(String, Int)] = []
    for (name, schema) in object {
      let pointer = "\(member.pointer)/\(JSONPointer.escaped(name))"
      indexes.append((name, try add(schema, at: pointer, in: member.keyword)))
    }
    return indexes
  }
}

extension SchemaCompiler {
  /// Finds the targets of references; refuses missing targets and cycles.
  mutating func resolveReferences() throws(SchemaError) {
    var dynamic: [ByteString: [Int: Int]] = [:]
    for reference in references {
      let rule = try rule(of: reference, &dynamic)
      guard case .tests(var tests) = subschemas[reference.owner].content,
        let position = tests.firstIndex(where: { $0.keyword == reference.keyword })
      else { continue }
      tests[position].rule = rule
      subschemas[reference.owner].content = .tests(tests)
    }
    var states = [State](repeating: .new, count: subschemas.count)
    for reference in references { try visit(reference.owner, &states, reference.pointer) }
  }

  /// Returns the rule of a reference, which is dynamic only if it leads to a dynamic anchor by
  /// name.
  ///
  /// `dynamic` caches the result for each name.
  private func rule(
    of reference: Reference, _ dynamic: inout [ByteString: [Int: Int]]
  ) throws(SchemaError) -> Rule {
    let owner = subschemas[reference.owner]
    switch resources.target(of: reference.text, in: owner.resource) {
    case .schema(let schema, let name):
      guard reference.keyword == .dynamicReference, let name else { return .reference(schema) }
      let others = dynamic[name] ?? resources.schemas(named: name)
      dynamic[name] = others
      return .dynamicReference(schema, others: others)
    case .place(let pointer):
      if let schema = places[ByteString(pointer)] { return .reference(schema) }
    case nil: break
    }
    throw SchemaError(
      reference.pointer, "reference",
      "The reference must lead to this schema or a part of it; others are not fetched."
    )
  }

  private enum State { case new, open, done }

  /// Refuses a cycle of references on the same value, which would never end.
  ///
  /// It follows only the initial schema of a dynamic reference. If another target leads into a
  /// cycle, the depth limit of the validation ends it. `pointer` locates the last reference on the
  /// path, which is part of a cycle that is found.
  private func visit(_ index: Int, _ states: inout [State], _ pointer: String) throws(SchemaError) {
    guard states[index] != .open else {
      throw SchemaError(
        pointer, "cycle", "The reference leads back to itself without going into the value."
      )
    }
    guard states[index] == .new else { return }
    states[index] = .open
    let own = subschemas[index]
    let last = own.reference.map { "\(own.pointer)/\($0.rawValue)" } ?? pointer
    for next in own.besides { try visit(next, &states, last) }
    states[index] = .done
  }
}

/// The keywords of a schema.
enum Keyword: String, Sendable {
  case schema = "$schema"
  case id = "$id"
  case anchor = "$anchor"
  case dynamicAnchor = "$dynamicAnchor"
  case definitions = "$defs"
  case reference = "$ref"
  case dynamicReference = "$dynamicRef"
  case type
  case values = "enum"
  case const
  case multipleOf, maximum, exclusiveMaximum, minimum, exclusiveMinimum
  case maxLength, minLength, pattern
  case prefixItems, items, contains, minContains, maxContains, maxItems, minItems, uniqueItems
  case properties, patternProperties, additionalProperties, propertyNames
  case required, dependentRequired, dependentSchemas, maxProperties, minProperties
  case allOf, anyOf, oneOf, not
  case condition = "if"
  case then
  case otherwise = "else"
  case unevaluatedItems, unevaluatedProperties
  // Annotations, which are checked but have no effect.
  case comment = "$comment"
  case title, description, examples, deprecated, readOnly, writeOnly, format
  case usual = "default"
  case contentMediaType, contentEncoding, contentSchema

  /// Whether the keyword is `unevaluated…`, and so is applied after its siblings.
  var isUnevaluated: Bool { self == .unevaluatedItems || self == .unevaluatedProperties }

  /// The spelling in error codes.
  var code: String {
    rawValue.reduce(into: "") { code, character in
      if character == "$" { return }
      code += character.isUppercase ? "_" + character.lowercased() : String(character)
    }
  }

  /// Keywords of this and earlier drafts that are refused by name, each with its remedy.
  static let refused: [String: String] = [
    "$recursiveRef": "It is of an earlier draft: use $dynamicRef.",
    "$recursiveAnchor": "It is of an earlier draft: use $dynamicAnchor.",
    "$vocabulary": "It is for schemas of schemas.",
    "definitions": "It is of an earlier draft: use $defs.",
    "dependencies": "It is of an earlier draft: use dependentRequired or dependentSchemas.",
    "additionalItems": "It is of an earlier draft: use items beside prefixItems.",
    "id": "It is of an earlier draft: use $id.",
  ]
}
