internal import JSON

/// The operation at the end of a path.
enum UpdateOperation: Sendable {
  case set(BSON)
  case setOnInsert(BSON)
  case unset
  /// Writes to the target.
  ///
  /// The source value is read before anything changes.
  case rename(from: [FieldName])
  case increment(BSON)
  case multiply(BSON)
  case minimum(BSON)
  case maximum(BSON)
  case currentDate
  case currentTimestamp
  case bits([BitStep])
  case push(Push)
  case addToSet(BSONArray)
  case popFirst
  case popLast
  case pull(Pull)

  enum BitStep: Sendable {
    case and(BSON)
    case or(BSON)
    case xor(BSON)
  }

  enum Pull: Sendable {
    case anyOf(Set<EqualityKey>)
    /// A condition on each element.
    ///
    /// The query sees the element as a document's field with an empty name.
    case elements(Query)
    /// A condition on the elements that are documents.
    case documents(Query)
  }
}

/// Parses the operand of one operator for one path.
struct OperandParser {
  /// The tokens of the JSON pointer: the operator and the path.
  let place: [String]
  let patterns: PatternAllowance

  /// Parses the operand of any operator except `$rename`, which has two paths.
  func operation(
    _ operation: UpdateOperator, _ operand: BSON
  ) throws(OperatorError) -> UpdateOperation? {
    switch operation {
    case .set: .set(operand.inStoredOrder)
    case .setOnInsert: .setOnInsert(operand.inStoredOrder)
    case .unset: .unset
    case .increment: .increment(try number(operand))
    case .multiply: .multiply(try number(operand))
    case .minimum: .minimum(operand.inStoredOrder)
    case .maximum: .maximum(operand.inStoredOrder)
    case .currentDate: try currentDate(operand)
    case .bit: .bits(try bits(operand))
    case .push: .push(try push(operand))
    case .addToSet: .addToSet(try addToSet(operand))
    case .pop: try pop(operand)
    case .pull: .pull(try pull(operand))
    case .pullAll: .pull(try pullAll(operand))
    case .rename: nil
    }
  }

  private func number(_ operand: BSON) throws(OperatorError) -> BSON {
    guard operand.kind.isNumber else {
      throw error("The operand must be a number.", .typeMismatch)
    }
    return operand
  }

  private func currentDate(_ operand: BSON) throws(OperatorError) -> UpdateOperation {
    if case .bool = operand { return .currentDate }
    guard let document = operand.document, document.names == ["$type"] else {
      throw error("$currentDate must be a boolean or an object with $type.")
    }
    switch document["$type"]?.string {
    case "date": return .currentDate
    case "timestamp": return .currentTimestamp
    default: throw error("The $type of $currentDate must be date or timestamp.")
    }
  }

  private func bits(_ operand: BSON) throws(OperatorError) -> [UpdateOperation.BitStep] {
    guard let document = operand.document, !document.isEmpty else {
      throw error("$bit must be an object with `and`, `or` or `xor`.")
    }
    var steps: [UpdateOperation.BitStep] = []
    for field in document {
      guard field.value.int64 != nil else {
        throw error("The operands of $bit must be 32-bit or 64-bit integers.")
      }
      switch field.name.text {
      case "and": steps.append(.and(field.value))
      case "or": steps.append(.or(field.value))
      case "xor": steps.append(.xor(field.value))
      default: throw error("$bit knows and, or and xor.")
      }
    }
    return steps
  }

  private func push(_ operand: BSON) throws(OperatorError) -> Push {
    guard let document = operand.document else { return Push(elements: [operand.inStoredOrder]) }
    guard let each = document["$each"] else { return Push(elements: [operand.inStoredOrder]) }
    guard let elements = each.array else { throw error("$each must be an array.") }
    var push = Push(elements: ordered(elements))
    for field in document {
      switch field.name.text {
      case "$each": break
      case "$position": push.position = try integer(field)
      case "$slice": push.slice = try integer(field)
      case "$sort": push.sort = try sort(field.value)
      default: throw error("$push does not know \(field.name.text).")
      }
    }
    return push
  }

  private func integer(_ field: BSONDocument.Field) throws(OperatorError) -> Int {
    guard let value = field.value.integer else {
      throw error("\(field.name.text) must be a whole number.")
    }
    return value
  }

  private func sort(_ operand: BSON) throws(OperatorError) -> Push.Sort {
    guard let document = operand.document else {
      return .values(isAscending: try SortOrder.isAscending(operand, pointer))
    }
    guard !document.isEmpty else { throw error("$sort must name at least one field.") }
    return .fields(try SortOrder(document, pointer: pointer))
  }

  private func addToSet(_ operand: BSON) throws(OperatorError) -> BSONArray {
    guard let document = operand.document, document.first?.name.text == "$each" else {
      return [operand.inStoredOrder]
    }
    guard document.names.count == 1 else { throw error("$addToSet knows $each only.") }
    guard let elements = document["$each"]?.array else {
      throw error("$each must be an array.", .typeMismatch)
    }
    return ordered(elements)
  }

  private func pop(_ operand: BSON) throws(OperatorError) -> UpdateOperation {
    switch operand.integer {
    case 1: return .popLast
    case -1: return .popFirst
    default: throw error("$pop must be 1 or -1.", .failedToParse)
    }
  }

  private func pull(_ operand: BSON) throws(OperatorError) -> UpdateOperation.Pull {
    var parser = QueryParser(patterns, at: place)
    let element = [FieldName("")]
    switch operand {
    case .regularExpression: return .elements(Query(try parser.field(element, operand)))
    case .document(let document):
      let isLogical = ["$and", "$or", "$nor"].contains(document.first?.name.text)
      if document.isExpression(), !isLogical {
        return .elements(Query(try parser.operators(element, document)))
      }
      return .documents(Query(try parser.query(document)))
    default: return .anyOf([EqualityKey(operand.inStoredOrder)])
    }
  }

  private func pullAll(_ operand: BSON) throws(OperatorError) -> UpdateOperation.Pull {
    guard let elements = operand.array else { throw error("$pullAll must be an array.") }
    return .anyOf(Set(values: ordered(elements)))
  }

  private func ordered(_ elements: BSONArray) -> BSONArray {
    BSON.array(elements).inStoredOrder.array ?? elements
  }

  private var pointer: String { JSONPointer(tokens: place).description }

  private func error(_ detail: String, _ code: OperatorError.Code = .badValue) -> OperatorError {
    OperatorError(code, detail, pointer: pointer)
  }
}

/// The operand of `$push`.
struct Push: Sendable {
  let elements: BSONArray
  /// The index at which to insert.
  ///
  /// A negative one counts from the end.
  var position: Int?
  var sort: Sort?
  /// The number of first elements to keep, or of last elements if negative.
  var slice: Int?

  init(elements: BSONArray) { self.elements = elements }

  /// The number of names looked up in each element for the sort.
  var sortKeys: Int {
    guard case .fields(let order) = sort else { return 0 }
    return order.keys.reduce(0) { $0 + $1.path.count }
  }

  enum Sort: Sendable {
    case values(isAscending: Bool)
    case fields(SortOrder)
  }

  /// Inserts the elements, sorts the whole array, then cuts it.
  func apply(to array: inout [BSON]) {
    let position = position ?? array.count
    let index = position < 0 ? max(array.count + position, 0) : position
    array.insert(contentsOf: elements, at: min(index, array.count))
    switch sort {
    case .values(let isAscending):
      array.sort { BSON.compare($0, $1) == (isAscending ? .ascending : .descending) }
    case .fields(let order): Self.sort(&array, by: order.keys)
    case nil: break
    }
    guard let slice, slice.magnitude < UInt(array.count) else { return }
    array = slice < 0 ? Array(array.suffix(-slice)) : Array(array.prefix(slice))
  }

  /// Sorts the array.
  ///
  /// A missing field counts as null.
  private static func sort(_ array: inout [BSON], by keys: [SortOrder.Key]) {
    // The key values of all elements in one flat array.
    let values = array.flatMap { element in keys.lazy.map { element.keyValue(at: $0.path) } }
    let places = array.indices.sorted { first, second in
      for (position, key) in keys.enumerated() {
        let order = BSON.compare(
          values[first * keys.count + position], values[second * keys.count + position]
        )
        if order != .same { return order == (key.isAscending ? .ascending : .descending) }
      }
      return false
    }
    array = places.map { array[$0] }
  }
}

extension BSON {
  /// Returns the value that nested objects lead to.
  ///
  /// Arrays are not entered.
  fileprivate func keyValue(at path: [FieldName]) -> BSON {
    var value: BSON? = self
    for name in path { value = value?.document?[name] }
    return value ?? .null
  }
}
