import JSON
import Patterns

/// The validation of one value against one schema, within a budget.
struct Validation {
  private let subschemas: [Subschema]
  let hasLeftovers: Bool
  /// The evaluated parts of the current value; kept only if a keyword needs them.
  var seen: Seen?
  /// The root schemas of the resources on the current path.
  private var entered: [Int] = []
  private var found: [SchemaFault] = []
  private var steps = Self.stepLimit
  var path: [Step] = []
  /// The depth of nested schema applications.
  private var depth = 0
  /// Whether only validity matters, so that the first error decides.
  private(set) var isProbing = false

  /// The most steps.
  ///
  /// A step takes a fraction of a microsecond, so the limit is 0.1 to 0.3 s of work. That is
  /// several times the cost of a megabyte with a usual schema.
  static let stepLimit = 2_000_000
  /// The limit of the stack: a document may be 64 deep, with some references at each level.
  private static let depthLimit = 512

  enum Step {
    case key(String)
    case index(Int)
  }

  /// Ends the validation early; the errors are in `found`.
  struct Stop: Error {}

  init(_ schema: JSONSchema) {
    subschemas = schema.subschemas
    hasLeftovers = schema.hasLeftovers
  }

  mutating func faults(in value: JSON) -> [SchemaFault] {
    do throws(Stop) {
      _ = try fits(0, value)
    } catch {
      // The errors found so far count.
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

  /// Records an error and returns that the value is invalid.
  private mutating func refuse(
    _ schemaPointer: String, _ code: String, _ detail: String
  ) throws(Stop) -> Bool {
    guard !isProbing else { return false }
    found.append(
      SchemaFault(pointer: pointer, schemaPointer: schemaPointer, code: code, detail: detail)
    )
    guard found.count < JSONSchema.faultLimit else { throw Stop() }
    return false
  }

  mutating func refuse(_ test: Test, _ index: Int) throws(Stop) -> Bool {
    try refuse(
      "\(subschemas[index].pointer)/\(test.keyword.rawValue)", test.keyword.code, test.detail
    )
  }

  mutating func spend(_ count: Int, _ index: Int) throws(Stop) {
    steps -= count
    guard steps < 0 else { return }
    isProbing = false
    let detail = "Validating this by the schema takes too many steps."
    _ = try refuse(subschemas[index].pointer, "cost", detail)
    throw Stop()
  }

  mutating func matches(_ pattern: Pattern, _ text: String, _ index: Int) throws(Stop) -> Bool {
    let isMatch = pattern.matches(text, spending: &steps)
    try spend(0, index)
    return isMatch
  }

  // MARK: Schemas

  mutating func fits(_ index: Int, _ value: JSON) throws(Stop) -> Bool {
    depth += 1
    defer { depth -= 1 }
    try spend(depth > Self.depthLimit ? Self.stepLimit + 1 : 2, index)
    switch subschemas[index].content {
    case .never(let keyword):
      let isOfMember = keyword == .additionalProperties || keyword == .unevaluatedProperties
      return try refuse(
        subschemas[index].pointer, keyword?.code ?? "false",
        isOfMember ? "A member of this name is not allowed." : "No value is allowed here."
      )
    case .tests(let tests):
      let isEntering = entered.last != subschemas[index].resource
      if isEntering { entered.append(subschemas[index].resource) }
      defer { if isEntering { entered.removeLast() } }
      guard hasLeftovers else { return try allHold(tests, value, index) }
      // Each schema sees the parts evaluated below it, not those evaluated by its siblings.
      let outer = seen
      seen = Seen()
      let isFit = try allHold(tests, value, index)
      let inner = seen
      seen = outer
      if isFit, let inner {
        try spend(inner.size, index)
        seen?.add(inner)
      }
      return isFit
    }
  }

  private mutating func allHold(_ tests: [Test], _ value: JSON, _ index: Int) throws(Stop) -> Bool {
    var isFit = true
    for test in tests {
      try spend(1, index)
      // After an error, the unevaluated parts are not meaningful.
      if test.keyword.isUnevaluated, !isFit { continue }
      guard try !holds(test, value, index) else { continue }
      guard !isProbing else { return false }
      isFit = false
    }
    return isFit
  }

  /// Returns whether the value is valid, without recording errors.
  mutating func probe(_ index: Int, _ value: JSON) throws(Stop) -> Bool {
    let wasProbing = isProbing
    isProbing = true
    let isFit = try fits(index, value)
    isProbing = wasProbing
    return isFit
  }

  private mutating func holds(_ test: Test, _ value: JSON, _ index: Int) throws(Stop) -> Bool {
    switch test.rule {
    case .elements(let first, let others):
      return try elementsFit(value.array ?? [], first, others)
    case .members(let named, let matching, let others):
      return try membersFit(value.object, named, matching, others, index)
    case .names(let part):
      return try each(value.object) { (_, key, _, validation) throws(Stop) in
        try validation.fits(part, .string(key), .key(key), at: nil)
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
    case .dynamicReference(let first, let others):
      try spend(entered.count, index)
      return try fits(entered.lazy.compactMap { others[$0] }.first ?? first, value)
    case .leftElements(let part):
      return try allHold((value.array ?? []).enumerated()) { (element, validation) throws(Stop) in
        try validation.fitsUnlessSeen(part, element.element, .index(element.offset), element.offset)
      }
    case .leftMembers(let part):
      return try each(value.object) { (offset, key, member, validation) throws(Stop) in
        try validation.fitsUnlessSeen(part, member, .key(key), offset)
      }
    default:
      if try isTrue(test.rule, of: value, index) { return true }
      return try refuse(test, index)
    }
  }
}
