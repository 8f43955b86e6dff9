package import JSON
internal import Patterns

/// A condition on one document, in MongoDB's query language.
///
/// `QueryOperator` lists the operators. Others are rejected.
///
/// Arrays and null behave as in MongoDB up to version 8:
/// - `{"a": null}` is also true of a document without `a`, and of one whose `a` is undefined.
/// - `{"a.b": null}` is true if `a` is not an object. For an array, only its objects count, so it
///   is false for `[]` and `[1]`.
/// - Source: MongoDB manual, "Query and projection operators".
package struct Query: Sendable {
  let root: Predicate

  /// Reads a query from Extended JSON.
  ///
  /// - Parameters:
  ///   - json: an object.
  ///   - patterns: the allowance shared by all parsers of one request.
  /// - Throws: `.badValue`, `.failedToParse`, `.overflow` or an error of a regular expression if
  ///   the query is invalid, with the pointer to the operand.
  package init(
    _ json: JSON, _ patterns: PatternAllowance = PatternAllowance()
  ) throws(OperatorError) {
    var parser = QueryParser(patterns)
    root = try parser.query(try BSONDocument(json))
  }

  init(_ root: Predicate) { self.root = root }

  /// Returns whether the document meets the condition.
  ///
  /// - Throws: `.maxTimeExpired` if the budget is used up.
  package func matches(
    _ document: BSONDocument, _ budget: inout Budget
  ) throws(OperatorError) -> Bool { try match(document, &budget) != nil }

  /// Returns how the document meets the condition, or nil if it does not.
  ///
  /// - Throws: `.maxTimeExpired` if the budget is used up.
  package func match(
    _ document: BSONDocument, _ budget: inout Budget
  ) throws(OperatorError) -> Match? {
    var matcher = Matcher(budget: budget)
    defer { budget = matcher.budget }
    guard try matcher.holds(root, of: .document(document)) else { return nil }
    return Match(position: matcher.position)
  }

  /// The details of a match that an update needs.
  package struct Match: Sendable {
    /// The index that `$` in a path stands for.
    ///
    /// It is the index of the first array element that met a condition. If several conditions test
    /// array elements, the last one counts.
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
  /// A test of the value at a path.
  ///
  /// An empty path tests the value itself.
  case field([FieldName], Test)
}

extension Predicate {
  /// The first names of its paths.
  var names: [FieldName] {
    switch self {
    case .all(let parts), .any(let parts), .none(let parts): parts.flatMap(\.names)
    case .field(let path, _): path.first.map { [$0] } ?? []
    }
  }
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
  /// A test that some element of an array must pass.
  ///
  /// If `isDocument` is true, only documents and arrays can pass.
  case element(Predicate, isDocument: Bool)

  /// Whether the test also applies to each element of an array at the end of a path.
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
  /// The maximum number of steps for a comparison.
  let weight: Int

  init(_ value: BSON) {
    self.value = value
    weight = value.weight
  }
}

/// The operand of `$in`.
struct ValueList: Sendable {
  private var values: Set<EqualityKey> = []
  private(set) var patterns: [Pattern] = []
  /// The ranks of the values.
  ///
  /// Values of other ranks need no lookup.
  private var ranks: Set<Int> = []

  mutating func insert(_ value: BSON) {
    values.insert(EqualityKey(value))
    ranks.insert(value.kind.rank)
  }

  mutating func insert(_ pattern: Pattern) { patterns.append(pattern) }

  /// The value, if the list has exactly one entry and it is not a pattern.
  var onlyValue: BSON? { values.count == 1 && patterns.isEmpty ? values.first?.value : nil }

  var hasNull: Bool { ranks.contains(BSON.Kind.null.rank) }

  func contains(_ value: BSON, _ budget: inout Budget) throws(OperatorError) -> Bool {
    guard ranks.contains(value.kind.rank) else { return false }
    try budget.spend(value.weight)
    return values.contains(EqualityKey(value))
  }
}

extension BSON {
  /// The steps for comparing this value: about one for each nested value, and one for each 32 bytes
  /// of its strings.
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

extension Query {
  /// Returns the initial document of an upsert: the fields that the query compares for equality.
  ///
  /// Also reads equalities within `$and`, and within an `$or` or `$in` of one element.
  ///
  /// - Parameters:
  ///   - isReplaced: whether a replacement follows. It takes only the `_id` from the query.
  ///   - budget: the budget of the call.
  /// - Returns: the document, possibly without an `_id`.
  /// - Throws: `.notSingleValueField` if the query gives a field two values, `.emptyFieldName` if
  ///   a path cannot be created, `.notExactValueField` if a replacement follows and the query
  ///   compares a part of the `_id`.
  /// - Source: MongoDB manual, "db.collection.updateOne", "Upsert with dotted _id query"; the cases
  ///   of `upsert_fields.js` in MongoDB's tests.
  package func insertion(
    isReplaced: Bool = false, _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    var tree = UpdateNode.fields([:])
    for (path, value) in root.equalities {
      if isReplaced {
        guard path.first == FieldName("_id") else { continue }
        guard path.count == 1 else {
          throw OperatorError(
            .notExactValueField,
            "A replacement needs the whole _id, and the query compares a part of it.",
            path: path.map(\.text).joined(separator: ".")
          )
        }
      }
      let text = path.map(\.text).joined(separator: ".")
      let parts = try UpdatePath(text, pointer: "").parts
      let leaf = UpdateLeaf(operation: .set(value), path: text, pointer: "")
      do throws(OperatorError) {
        try tree.merge(UpdateNode(leaf, at: parts[...]), at: [])
      } catch {
        throw OperatorError(
          .notSingleValueField, "The query gives a field of the new document two values.",
          path: text
        )
      }
    }
    let update = Update(.operators(tree, renames: [], filters: [:]))
    return try update.apply(to: BSONDocument(), now: 0, &budget).document
  }
}

extension Predicate {
  fileprivate var equalities: [([FieldName], BSON)] {
    switch self {
    case .all(let parts): parts.flatMap(\.equalities)
    case .any(let parts): parts.count == 1 ? parts[0].equalities : []
    case .none: []
    case .field(let path, .equal(let operand)): [(path, operand.value)]
    case .field(let path, .oneOf(let list)): list.onlyValue.map { [(path, $0)] } ?? []
    case .field: []
    }
  }
}
