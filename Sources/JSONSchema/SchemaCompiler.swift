import JSON

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
