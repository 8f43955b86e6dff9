import JSON
import Patterns

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
