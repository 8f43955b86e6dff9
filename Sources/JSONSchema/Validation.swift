import JSON
import Patterns

/// One value against one schema, within a budget.
struct Validation {
  private let subschemas: [Subschema]
  private var found: [SchemaFault] = []
  private var steps = Self.stepLimit
  private var path: [Step] = []
  /// Schemas that are applied within each other.
  private var depth = 0
  /// Only whether it fits is asked; the first fault decides.
  private var isProbing = false

  /// A step is a part of a microsecond: 0.1 to 0.3 s of work in all, several times of what a
  /// megabyte takes by a schema of the usual kind.
  static let stepLimit = 2_000_000
  /// Of the stack: a document may be 64 deep, with some references at each level.
  private static let depthLimit = 512

  private enum Step {
    case key(String)
    case index(Int)
  }

  /// Why it ends before all is looked at; what is to be told is in `found`.
  struct Stop: Error {}

  init(_ schema: JSONSchema) { subschemas = schema.subschemas }

  mutating func faults(in value: JSON) -> [SchemaFault] {
    do throws(Stop) {
      _ = try fits(0, value)
    } catch {
      // What was found counts.
    }
    return found
  }

  // MARK: Faults and cost

  private var pointer: String {
    path.map { step in
      switch step {
      case .key(let key): "/" + JSONPointer.escaped(key)
      case .index(let index): "/\(index)"
      }
    }.joined()
  }

  /// Notes a fault, and says that the value does not fit.
  private mutating func refuse(
    _ schemaPointer: String,
    _ code: String,
    _ detail: String
  ) throws(Stop) -> Bool {
    guard !isProbing else { return false }
    found.append(
      SchemaFault(pointer: pointer, schemaPointer: schemaPointer, code: code, detail: detail)
    )
    guard found.count < JSONSchema.faultLimit else { throw Stop() }
    return false
  }

  private mutating func refuse(_ test: Test, _ index: Int) throws(Stop) -> Bool {
    try refuse(
      "\(subschemas[index].pointer)/\(test.keyword.rawValue)",
      test.keyword.code,
      test.detail
    )
  }

  mutating func spend(_ count: Int, _ index: Int) throws(Stop) {
    steps -= count
    guard steps < 0 else { return }
    isProbing = false
    let detail = "To look at this by the schema takes too many steps."
    _ = try refuse(subschemas[index].pointer, "cost", detail)
    throw Stop()
  }

  // MARK: Schemas

  private mutating func fits(_ index: Int, _ value: JSON) throws(Stop) -> Bool {
    depth += 1
    defer { depth -= 1 }
    try spend(depth > Self.depthLimit ? Self.stepLimit + 1 : 2, index)
    switch subschemas[index].content {
    case .never(let keyword):
      let what = keyword == .additionalProperties ? "A member of this name" : "What is here"
      return try refuse(
        subschemas[index].pointer,
        keyword?.code ?? "false",
        "\(what) is not allowed."
      )
    case .tests(let tests):
      var isFit = true
      for test in tests {
        try spend(1, index)
        guard try !holds(test, value, index) else { continue }
        guard !isProbing else { return false }
        isFit = false
      }
      return isFit
    }
  }

  /// Whether it fits, with no fault noted.
  mutating func probe(_ index: Int, _ value: JSON) throws(Stop) -> Bool {
    let wasProbing = isProbing
    isProbing = true
    let isFit = try fits(index, value)
    isProbing = wasProbing
    return isFit
  }

  private mutating func fits(_ index: Int, _ value: JSON, _ step: Step) throws(Stop) -> Bool {
    path.append(step)
    let isFit = try fits(index, value)
    path.removeLast()
    return isFit
  }

  private mutating func holds(
    _ test: Test,
    _ value: JSON,
    _ index: Int
  ) throws(Stop) -> Bool {
    switch test.rule {
    case .elements(let first, let others):
      return try elementsFit(value.array ?? [], first, others)
    case .members(let named, let matching, let others):
      return try membersFit(value.object, named, matching, others, index)
    case .names(let part):
      return try each(value.object) { (key, _, validation) throws(Stop) in
        try validation.fits(part, .string(key), .key(key))
      }
    case .required(let names): return try require(names, value.object, test, index)
    case .dependentRequired(let needs):
      try spend(needs.count, index)
      return try allHold(needs) { (need, validation) throws(Stop) in
        guard value[need.name] != nil else { return true }
        return try validation.require(need.needed, value.object, test, index)
      }
    case .dependentSchemas(let parts):
      try spend(parts.count, index)
      return try allHold(parts) { (part, validation) throws(Stop) in
        guard value[part.name] != nil else { return true }
        return try validation.fits(part.schema, value)
      }
    case .all(let parts):
      return try allHold(parts) { (part, validation) throws(Stop) in
        try validation.fits(part, value)
      }
    case .condition(let condition, let then, let otherwise):
      guard let part = try probe(condition, value) ? then : otherwise else { return true }
      return try fits(part, value)
    case .reference(let part): return try fits(part, value)
    default:
      if try isTrue(test.rule, of: value, index) { return true }
      return try refuse(test, index)
    }
  }

  // MARK: Parts of a value

  /// Whether all hold; each is looked at, unless only that is asked.
  private mutating func allHold<Parts: Sequence>(
    _ parts: Parts,
    _ holds: (Parts.Element, inout Validation) throws(Stop) -> Bool
  ) throws(Stop) -> Bool {
    var isFit = true
    for part in parts where try !holds(part, &self) {
      guard !isProbing else { return false }
      isFit = false
    }
    return isFit
  }

  private mutating func each(
    _ object: JSONObject?,
    _ holds: (String, JSON, inout Validation) throws(Stop) -> Bool
  ) throws(Stop) -> Bool {
    guard let object else { return true }
    return try allHold(object) { (member, validation) throws(Stop) in
      try holds(member.key, member.value, &validation)
    }
  }

  private mutating func elementsFit(
    _ elements: [JSON],
    _ first: [Int],
    _ others: Int?
  ) throws(Stop) -> Bool {
    let elements = others == nil ? elements.prefix(first.count) : elements[...]
    return try allHold(elements.enumerated()) { (element, validation) throws(Stop) in
      guard let part = element.offset < first.count ? first[element.offset] : others else {
        return true
      }
      return try validation.fits(part, element.element, .index(element.offset))
    }
  }

  private mutating func membersFit(
    _ object: JSONObject?,
    _ named: [ExactString: Int],
    _ matching: [(pattern: Pattern, schema: Int)],
    _ others: Int?,
    _ index: Int
  ) throws(Stop) -> Bool {
    try each(object) { (key, member, validation) throws(Stop) in
      try validation.spend(1 + key.utf8.count / 32, index)
      var parts: [Int] = []
      if let part = named[ExactString(key)] { parts.append(part) }
      for (pattern, part) in matching {
        let isMatch = try pattern.matches(key) { (steps) throws(Stop) in
          try validation.spend(steps, index)
        }
        if isMatch { parts.append(part) }
      }
      if parts.isEmpty, let others { parts = [others] }
      return try validation.allHold(parts) { (part, validation) throws(Stop) in
        try validation.fits(part, member, .key(key))
      }
    }
  }

  private mutating func require(
    _ names: [String],
    _ object: JSONObject?,
    _ test: Test,
    _ index: Int
  ) throws(Stop) -> Bool {
    guard let object else { return true }
    try spend(names.count, index)
    return try allHold(names) { (name, validation) throws(Stop) in
      guard object[name] == nil else { return true }
      validation.path.append(.key(name))
      let isFit = try validation.refuse(test, index)
      validation.path.removeLast()
      return isFit
    }
  }
}
