internal import Patterns

/// Evaluates predicates within a budget.
struct Matcher {
  var budget: Budget
  /// The index of the array element that met a condition, if the path did not name the index.
  private(set) var position: Int?

  init(budget: Budget) { self.budget = budget }

  mutating func holds(_ predicate: Predicate, of value: BSON) throws(OperatorError) -> Bool {
    try budget.spend(1)
    switch predicate {
    case .all(let parts):
      for part in parts { guard try holds(part, of: value) else { return false } }
      return true
    case .any(let parts):
      for part in parts where try holds(part, of: value) { return true }
      return false
    case .none(let parts):
      // A negated condition matches no element, so the position is restored.
      let outer = position
      defer { position = outer }
      for part in parts where try holds(part, of: value) { return false }
      return true
    case .field(let path, let test):
      if path.isEmpty { return try passes(test, value) }
      guard case .document(let document) = value else { return false }
      return try reaches(path[...], in: document, test)
    }
  }

  // MARK: Paths

  /// Returns whether a value that the path reaches passes the test.
  ///
  /// Tests nil if the path reaches nothing.
  private mutating func reaches(
    _ path: ArraySlice<FieldName>, in document: BSONDocument, _ test: Test
  ) throws(OperatorError) -> Bool {
    try budget.spend(1)
    guard let name = path.first, let value = try document.field(name, &budget) else {
      return try passes(test, nil)
    }
    let rest = path.dropFirst()
    // MongoDB reads `a.` as `a` if `a` is an array. Otherwise it means the field with the empty
    // name.
    let isEnd = rest.isEmpty || rest.count == 1 && rest.first?.text.isEmpty == true
    switch value {
    case .array(let elements) where !isEnd: return try reaches(rest, in: elements, test)
    case .document(let document) where !rest.isEmpty:
      return try reaches(rest, in: document, test)
    case .array(let elements) where test.expandsArrays:
      for index in elements.indices where try passes(test, elements.element(index, &budget)) {
        position = index
        return true
      }
      return try passes(test, value)
    case .array: return try passes(test, value)
    default: return try passes(test, rest.isEmpty ? value : nil)
    }
  }

  /// Applies the whole path to each document of an array.
  ///
  /// A number is also read as an index.
  private mutating func reaches(
    _ path: ArraySlice<FieldName>, in elements: BSONArray, _ test: Test
  ) throws(OperatorError) -> Bool {
    for index in elements.indices {
      try budget.spend(1)
      if case .document(let document) = try elements.element(index, &budget),
        try reaches(path, in: document, test)
      {
        position = index
        return true
      }
    }
    guard let name = path.first else { return false }
    try budget.spend(name.weight)
    guard let index = name.index, elements.indices.contains(index) else { return false }
    let rest = path.dropFirst()
    let element = try elements.element(index, &budget)
    if rest.isEmpty { return try passes(test, element) }
    switch element {
    case .document(let document): return try reaches(rest, in: document, test)
    case .array(let elements): return try reaches(rest, in: elements, test)
    default: return false
    }
  }

  // MARK: Tests

  private mutating func passes(_ test: Test, _ value: BSON?) throws(OperatorError) -> Bool {
    try budget.spend(1)
    switch test {
    case .equal(let operand): return try order(of: value, to: operand) == .same
    case .less(let operand, let orEqual):
      let order = try order(of: value, to: operand)
      return order == .ascending || (orEqual && order == .same)
    case .greater(let operand, let orEqual):
      let order = try order(of: value, to: operand)
      return order == .descending || (orEqual && order == .same)
    case .oneOf(let list):
      guard let value, value != .undefined else { return list.hasNull }
      if try list.contains(value, &budget) { return true }
      for pattern in list.patterns where try matches(pattern, value) { return true }
      return false
    case .exists: return value != nil
    case .type(let kinds): return value.map { kinds.contains($0.kind) } ?? false
    case .pattern(let pattern): return try matches(pattern, value)
    case .modulo(let modulo): return value.map(modulo.fits) ?? false
    case .bits(let operation, let mask):
      try budget.spend(mask.positions.count / 32)
      return value.map { mask.fits($0, operation) } ?? false
    case .size(let count): return value?.array?.count == count
    case .element(let predicate, let isDocument):
      let elements = value?.array ?? []
      for index in elements.indices {
        try budget.spend(1)
        let element = try elements.element(index, &budget)
        guard let element = isDocument ? try document(element) : element else { continue }
        if try holds(predicate, of: element) {
          position = index
          return true
        }
      }
      return false
    }
  }

  /// Returns the value as a query on documents sees it.
  ///
  /// An array has its indexes as names.
  private mutating func document(_ value: BSON) throws(OperatorError) -> BSON? {
    guard case .array(let elements) = value else { return value.document == nil ? nil : value }
    // The names are created and hashed.
    try budget.spend(4 * elements.count)
    return .document(BSONDocument(indexesOf: elements))
  }

  private mutating func matches(_ pattern: Pattern, _ value: BSON?) throws(OperatorError) -> Bool {
    switch value {
    case .string(let text), .symbol(let text):
      try budget.matches(pattern, text)
    case .regularExpression(let source, let options):
      source.utf8.elementsEqual(pattern.source.utf8)
        && options.utf8.elementsEqual(pattern.options.utf8)
    default: false
    }
  }

  /// Compares a value with an operand.
  ///
  /// Returns nil if they are not comparable.
  ///
  /// Values of different ranks are not comparable, with two exceptions. A missing value equals
  /// null, and all values are between the least and the greatest key. NaN equals only NaN.
  private mutating func order(
    of value: BSON?, to operand: Operand
  ) throws(OperatorError) -> Order? {
    let rank = value?.kind.rank ?? BSON.Kind.missingRank
    guard rank == operand.value.kind.rank, let value else {
      switch operand.value {
      case .null: return rank == BSON.Kind.missingRank ? .same : nil
      case .minKey: return .descending
      case .maxKey: return .ascending
      default: return nil
      }
    }
    if case .decimal = value { try budget.spend(value.weight) }
    try budget.spend(operand.weight)
    try payForReading(value, beside: operand.value)
    let order = BSON.compare(value, operand.value)
    return order != .same && (value.isNaN || operand.value.isNaN) ? nil : order
  }
}

extension Matcher {
  /// Charges the budget for decoding two containers.
  ///
  /// A comparison decodes only as many elements as the shorter one has.
  private mutating func payForReading(_ value: BSON, beside operand: BSON) throws(OperatorError) {
    switch (value, operand) {
    case (.array(let elements), .array(let others)):
      for index in 0..<Swift.min(elements.count, others.count) {
        let element = try elements.element(index, &budget)
        try payForReading(element, beside: others[index])
      }
    case (.document(let document), .document(let other)):
      var (fields, others) = (document.makeIterator(), other.makeIterator())
      for position in 0..<Swift.min(document.count, other.count) {
        try document.payForField(position, &budget)
        guard let field = fields.next(), let other = others.next() else { return }
        try payForReading(field.value, beside: other.value)
      }
    default: break
    }
  }
}

extension BSON {
  fileprivate var isNaN: Bool {
    switch self {
    case .double(let number): number.value.isNaN
    case .decimal(let number): number.kind == .nan
    default: false
    }
  }
}
