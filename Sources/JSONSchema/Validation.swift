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

/// The evaluated elements or members of a value, by their numbers.
struct Seen {
  private var words: [UInt64] = []

  /// The cost of a union with another set.
  var size: Int { words.count }

  func contains(_ number: Int) -> Bool {
    number / 64 < words.count && words[number / 64] & 1 << (number % 64) != 0
  }

  mutating func insert(_ number: Int) {
    let missing = number / 64 + 1 - words.count
    if missing > 0 { words.append(contentsOf: repeatElement(0, count: missing)) }
    words[number / 64] |= 1 << (number % 64)
  }

  mutating func add(_ other: Seen) {
    for (index, word) in other.words.enumerated() {
      if index < words.count { words[index] |= word } else { words.append(word) }
    }
  }
}

/// Tests of the parts of a value.
extension Validation {
  /// Returns whether a part of the value is valid, and marks the part as evaluated.
  ///
  /// `number` is the index of the part in the value; nil for other parts, such as keys.
  mutating func fits(
    _ index: Int, _ part: JSON, _ step: Step, at number: Int?
  ) throws(Stop) -> Bool {
    path.append(step)
    let outer = seen
    seen = nil
    let isFit = try fits(index, part)
    seen = outer
    if let number { seen?.insert(number) }
    path.removeLast()
    return isFit
  }

  mutating func fitsUnlessSeen(
    _ index: Int, _ part: JSON, _ step: Step, _ number: Int
  ) throws(Stop) -> Bool {
    try spend(1, index)
    if seen?.contains(number) == true { return true }
    return try fits(index, part, step, at: number)
  }

  /// Returns the number of valid elements, and marks them as evaluated.
  ///
  /// It stops at one more than `most`.
  mutating func count(
    _ elements: JSONArray, fitting part: Int, upTo most: Int
  ) throws(Stop) -> Int {
    var count = 0
    for (number, element) in elements.enumerated() where count <= most {
      let outer = seen
      seen = nil
      let isFit = try probe(part, element)
      seen = outer
      guard isFit else { continue }
      count += 1
      seen?.insert(number)
    }
    return count
  }

  /// Returns whether all conditions hold.
  ///
  /// While probing, it stops at the first violation.
  mutating func allHold<Parts: Sequence>(
    _ parts: Parts, _ holds: (Parts.Element, inout Validation) throws(Stop) -> Bool
  ) throws(Stop) -> Bool {
    var isFit = true
    for part in parts where try !holds(part, &self) {
      guard !isProbing else { return false }
      isFit = false
    }
    return isFit
  }

  mutating func each(
    _ object: JSONObject?, _ holds: (Int, String, JSON, inout Validation) throws(Stop) -> Bool
  ) throws(Stop) -> Bool {
    guard let object else { return true }
    return try allHold(object.enumerated()) { (member, validation) throws(Stop) in
      try holds(member.offset, member.element.key, member.element.value, &validation)
    }
  }

  mutating func elementsFit(
    _ elements: JSONArray, _ first: [Int], _ others: Int?
  ) throws(Stop) -> Bool {
    let elements = others == nil ? elements.prefix(first.count) : elements[...]
    return try allHold(elements.enumerated()) { (element, validation) throws(Stop) in
      guard let part = element.offset < first.count ? first[element.offset] : others else {
        return true
      }
      return try validation.fits(part, element.element, .index(element.offset), at: element.offset)
    }
  }

  mutating func membersFit(
    _ object: JSONObject?, _ named: [ByteString: Int],
    _ matching: [(pattern: Pattern, schema: Int)], _ others: Int?, _ index: Int
  ) throws(Stop) -> Bool {
    try each(object) { (offset, key, member, validation) throws(Stop) in
      try validation.spend(1 + key.utf8.count / 32, index)
      var parts: [Int] = []
      if let part = named[ByteString(key)] { parts.append(part) }
      for (pattern, part) in matching where try validation.matches(pattern, key, index) {
        parts.append(part)
      }
      if parts.isEmpty, let others { parts = [others] }
      return try validation.allHold(parts) { (part, validation) throws(Stop) in
        try validation.fits(part, member, .key(key), at: offset)
      }
    }
  }

  mutating func require(
    _ names: [String], _ object: JSONObject?, _ test: Test, _ index: Int
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

/// Tests with a single error, for the value as a whole.
extension Validation {
  mutating func isTrue(_ rule: Rule, of value: JSON, _ index: Int) throws(Stop) -> Bool {
    switch (rule, value) {
    case (.kinds(let kinds), _):
      if case .number(let number) = value { try spend(number.text.utf8.count / 8, index) }
      return kinds.includesKind(of: value)
    case (.any(let parts), _):
      // An `unevaluated…` keyword depends on all schemas that match.
      return try count(parts, fitBy: value, upTo: hasLeftovers ? .max : 0) > 0
    case (.one(let parts), _): return try count(parts, fitBy: value, upTo: 1) == 1
    case (.not(let part), _): return try !probe(part, value)
    case (.contains(let part, let least, let most), .array(let elements)):
      let count = try count(elements, fitting: part, upTo: most)
      return count >= least && count <= most
    case (.values(let forms, let longest), _):
      var work = 0
      let form = value.canonicalForm(limit: longest, &work)
      try spend(4 + work / 8, index)
      return form.map(forms.contains) ?? false
    case (.pattern(let pattern), .string(let text)):
      return try matches(pattern, text, index)
    case (.atLeast(.characters, let count), .string(let text)):
      try spend(text.utf8.count / 32, index)
      return text.unicodeScalars.count >= count
    case (.atMost(.characters, let count), .string(let text)):
      try spend(text.utf8.count / 32, index)
      return text.unicodeScalars.count <= count
    case (.atLeast(.elements, let count), .array(let elements)): return elements.count >= count
    case (.atMost(.elements, let count), .array(let elements)): return elements.count <= count
    case (.atLeast(.members, let count), .object(let object)): return object.count >= count
    case (.atMost(.members, let count), .object(let object)): return object.count <= count
    case (.unique, .array(let elements)): return try areUnique(elements, index)
    case (_, .number(let number)):
      // The digits of a number are examined individually.
      try spend(number.text.utf8.count / 8, index)
      switch rule {
      case .minimum(let bound): return number >= bound
      case .exclusiveMinimum(let bound): return number > bound
      case .maximum(let bound): return number <= bound
      case .exclusiveMaximum(let bound): return number < bound
      case .multiple(let divisor): return number.isMultiple(of: divisor)
      default: return true
      }
    default: return true
    }
  }

  /// Returns whether all elements differ.
  ///
  /// - Complexity: O(*n* log *n*) of the text of all elements.
  private mutating func areUnique(_ elements: JSONArray, _ index: Int) throws(Stop) -> Bool {
    var seen: Set<[UInt8]> = []
    for element in elements {
      var work = 0
      let form = element.canonicalForm(&work)
      try spend(2 + work / 4, index)
      guard seen.insert(form).inserted else { return false }
    }
    return true
  }

  /// Returns the number of schemas that the value matches, counted up to one more than `most`.
  private mutating func count(
    _ parts: [Int], fitBy value: JSON, upTo most: Int
  ) throws(Stop) -> Int {
    var count = 0
    for part in parts where count <= most {
      if try probe(part, value) { count += 1 }
    }
    return count
  }
}
