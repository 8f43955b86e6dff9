package import JSON
internal import Patterns

/// A condition on one document, in MongoDB's query language.
///
/// `QueryOperator` has its operators; others are refused.
///
/// Arrays and null mean what they do in MongoDB up to version 8: `{"a": null}` is also true of a
/// document without `a` and of one whose `a` is undefined; `{"a.b": null}` is true where `a` is no
/// object, and of an array only through one of its objects, so not of `[]` and `[1]`.
/// - Source: MongoDB manual, "Query and projection operators".
package struct Query: Sendable {
  let root: Predicate

  /// Reads a query from Extended JSON.
  ///
  /// - Parameters:
  ///   - json: an object.
  ///   - order: that of the documents which it will be asked about.
  ///   - patterns: shared by all that is read of one request.
  /// - Throws: `.badValue`, `.failedToParse`, `.overflow` or a fault of a regular expression, with
  ///   the pointer to the operand.
  package init(
    _ json: JSON,
    order: FieldOrder = .written,
    _ patterns: PatternAllowance = PatternAllowance()
  ) throws(OperatorError) {
    var parser = QueryParser(order, patterns)
    root = try parser.query(try BSONDocument(json))
  }

  init(_ root: Predicate) { self.root = root }

  /// Whether the document meets the condition.
  ///
  /// - Throws: `.maxTimeExpired` when that takes more steps than there are left.
  package func matches(
    _ document: BSONDocument,
    _ budget: inout Budget
  ) throws(OperatorError) -> Bool { try match(document, &budget) != nil }

  /// How the document meets the condition; nil when it does not.
  ///
  /// - Throws: as `matches`.
  package func match(
    _ document: BSONDocument,
    _ budget: inout Budget
  ) throws(OperatorError) -> Match? {
    var matcher = Matcher(budget: budget)
    defer { budget = matcher.budget }
    guard try matcher.holds(root, of: .document(document)) else { return nil }
    return Match(position: matcher.position)
  }

  /// What an update may want to know of a match.
  package struct Match: Sendable {
    /// What `$` in a path stands for.
    ///
    /// The index of the first element of an array that met a condition on it; with several such
    /// conditions, that of the last.
    package let position: Int?
  }

  func holds(of value: BSON, _ budget: inout Budget) throws(OperatorError) -> Bool {
    var matcher = Matcher(budget: budget)
    defer { budget = matcher.budget }
    return try matcher.holds(root, of: value)
  }
}

indirect enum Predicate: Sendable {
  case all([Predicate])
  case any([Predicate])
  case none([Predicate])
  /// A test of what a path leads to; without a path, of the value itself.
  case field([FieldName], Test)
}

/// A condition on one value.
enum Test: Sendable {
  case equal(Operand)
  case less(Operand, orEqual: Bool)
  case greater(Operand, orEqual: Bool)
  case oneOf(ValueList)
  case exists
  case type(Set<BSON.Kind>)
  case pattern(Pattern)
  case modulo(Modulo)
  case bits(QueryOperator, BitMask)
  case size(Int)
  /// Some element of an array; with a query on documents, only those that are, or are arrays.
  case element(Predicate, isDocument: Bool)

  /// Whether an array at the end of a path is tested element by element too.
  var expandsArrays: Bool {
    switch self {
    case .exists, .size, .element: false
    default: true
    }
  }
}

/// A value to compare with.
struct Operand: Sendable {
  let value: BSON
  /// The steps that a comparison takes at most.
  let weight: Int

  init(_ value: BSON) {
    self.value = value
    weight = value.weight
  }
}

/// The operand of `$in`.
struct ValueList: Sendable {
  private var values: Set<ByValue> = []
  private(set) var patterns: [Pattern] = []
  /// Values of other ranks need not be looked up.
  private var ranks: Set<Int> = []

  mutating func insert(_ value: BSON) {
    values.insert(ByValue(value))
    ranks.insert(value.kind.rank)
  }

  mutating func insert(_ pattern: Pattern) { patterns.append(pattern) }

  /// The value when there is but one thing in the list.
  var onlyValue: BSON? { values.count == 1 && patterns.isEmpty ? values.first?.value : nil }

  var hasNull: Bool { ranks.contains(BSON.Kind.null.rank) }

  func contains(_ value: BSON, _ budget: inout Budget) throws(OperatorError) -> Bool {
    guard ranks.contains(value.kind.rank) else { return false }
    try budget.spend(value.weight)
    return values.contains(ByValue(value))
  }
}

extension BSON {
  /// The steps that comparing this value takes: about one for each value in it, and for each 32
  /// bytes of its texts.
  var weight: Int {
    switch self {
    case .document(let document):
      document.reduce(1) { $0 + $1.name.text.utf8.count / 32 + $1.value.weight }
    case .array(let elements): elements.reduce(1) { $0 + $1.weight }
    // Digits are compared one by one.
    case .decimal: 16
    case .string(let text), .symbol(let text): 1 + text.utf8.count / 32
    case .binary(let bytes, _): 1 + bytes.count / 32
    case .regularExpression(let text, let other), .dbPointer(let text, let other):
      1 + (text.utf8.count + other.utf8.count) / 32
    case .javascript(let code, let scope):
      1 + code.utf8.count / 32 + (scope.map { BSON.document($0).weight } ?? 0)
    default: 1
    }
  }
}
