internal import JSON
internal import Patterns

/// Parses a query.
///
/// Each function restores `path` before it returns.
struct QueryParser {
  /// The tokens of the JSON pointer to the current position.
  private var path: [String]
  private let patterns: PatternAllowance
  private var conditions = 0

  /// More conditions than any client needs.
  ///
  /// The limit bounds the work per value.
  private static let conditionLimit = 1_000

  init(_ patterns: PatternAllowance, at path: [String] = []) {
    self.patterns = patterns
    self.path = path
  }

  mutating func query(_ document: BSONDocument) throws(OperatorError) -> Predicate {
    var parts: [Predicate] = []
    for field in document {
      let name = field.name.text
      path.append(name)
      switch QueryOperator(rawValue: name) {
      case .and: parts.append(.all(try list(field.value)))
      case .or: parts.append(.any(try list(field.value)))
      case .nor: parts.append(.none(try list(field.value)))
      case .comment: break
      default:
        guard !field.name.isDollarPrefixed else {
          throw QueryOperator.withheld.contains(name)
            ? unknown(name, "a document")
            : error("The query has an unknown top level operator: \(name).")
        }
        let steps = try FieldName.parts(of: name, pointer: pointer)
        guard !steps.contains(where: \.isPositional) else {
          throw error("$ and $[] stand for elements in the paths of an update, not in a filter.")
        }
        parts.append(try self.field(steps, field.value))
      }
      path.removeLast()
    }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func list(_ operand: BSON) throws(OperatorError) -> [Predicate] {
    guard let elements = operand.array, !elements.isEmpty else {
      throw error("$and, $or and $nor must be an array of queries that is not empty.")
    }
    var parts: [Predicate] = []
    for (index, element) in elements.enumerated() {
      path.append(String(index))
      guard let document = element.document else { throw error("A query must be an object.") }
      parts.append(try query(document))
      path.removeLast()
    }
    return parts
  }

  /// Parses the condition on one field: operators, or the value that it must equal.
  mutating func field(_ steps: [FieldName], _ operand: BSON) throws(OperatorError) -> Predicate {
    if case .document(let document) = operand, document.isExpression() {
      return try operators(steps, document)
    }
    try count()
    if case .regularExpression = operand { return .field(steps, .pattern(try pattern(operand))) }
    return .field(steps, .equal(try self.operand(operand, isRegexAllowed: true)))
  }

  /// Parses the operators on one field.
  ///
  /// All of them must hold.
  mutating func operators(
    _ steps: [FieldName], _ document: BSONDocument
  ) throws(OperatorError) -> Predicate {
    var parts: [Predicate] = []
    for field in document {
      path.append(field.name.text)
      if let part = try operation(steps, field, in: document) { parts.append(part) }
      path.removeLast()
    }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func operation(
    _ steps: [FieldName], _ field: BSONDocument.Field, in document: BSONDocument
  ) throws(OperatorError) -> Predicate? {
    let value = field.value
    try count()
    guard let operation = QueryOperator(rawValue: field.name.text) else {
      throw unknown(field.name.text, "a field")
    }
    switch operation {
    case .equal: return .field(steps, .equal(try operand(value, isRegexAllowed: true)))
    case .notEqual: return .none([.field(steps, .equal(try operand(value)))])
    case .less: return .field(steps, .less(try operand(value), orEqual: false))
    case .lessOrEqual: return .field(steps, .less(try operand(value), orEqual: true))
    case .greater: return .field(steps, .greater(try operand(value), orEqual: false))
    case .greaterOrEqual: return .field(steps, .greater(try operand(value), orEqual: true))
    case .oneOf: return .field(steps, .oneOf(try values(value)))
    case .noneOf: return .none([.field(steps, .oneOf(try values(value)))])
    case .exists:
      return value.isTruthy ? .field(steps, .exists) : .none([.field(steps, .exists)])
    case .type: return .field(steps, .type(try kinds(value)))
    case .not: return .none([try negated(steps, value)])
    case .all: return try everyValue(steps, value)
    case .size:
      guard let size = value.integer, size >= 0 else {
        throw error("$size must be a whole number that is not negative.")
      }
      return .field(steps, .size(size))
    case .elementMatch: return .field(steps, try elementMatch(value))
    case .regex:
      return .field(steps, .pattern(try pattern(value, options: document["$options"])))
    case .options:
      guard document["$regex"] != nil else { throw error("$options needs a $regex.") }
      return nil
    case .modulo: return .field(steps, .modulo(try modulo(value)))
    case .bitsAllSet, .bitsAllClear, .bitsAnySet, .bitsAnyClear:
      return .field(steps, .bits(operation, try bits(value)))
    case .and, .or, .nor, .comment: throw unknown(field.name.text, "a field")
    }
  }

  // MARK: Operands

  private func operand(_ value: BSON, isRegexAllowed: Bool = false) throws(OperatorError) -> Operand
  {
    if case .undefined = value { throw error("Nothing can be compared with undefined.") }
    if case .regularExpression = value, !isRegexAllowed {
      throw error("This operator cannot compare with a regular expression.")
    }
    return Operand(value.inStoredOrder)
  }

  private mutating func values(_ operand: BSON) throws(OperatorError) -> ValueList {
    guard let elements = operand.array else { throw error("$in and $nin must be an array.") }
    var list = ValueList()
    for (index, element) in elements.enumerated() {
      path.append(String(index))
      if case .regularExpression = element {
        list.insert(try pattern(element))
      } else {
        if let document = element.document, document.isExpression() {
          throw error("$in and $nin must contain values, not operators.")
        }
        list.insert(try self.operand(element).value)
      }
      path.removeLast()
    }
    return list
  }

  private func kinds(_ operand: BSON) throws(OperatorError) -> Set<BSON.Kind> {
    let elements = operand.array ?? [operand]
    guard !elements.isEmpty else { throw error("$type must name a type.", .failedToParse) }
    var kinds: Set<BSON.Kind> = []
    for element in elements {
      if let named = element.string.flatMap({ BSON.Kind.named($0) }) {
        kinds.formUnion(named)
      } else if let kind = element.integer.flatMap({ BSON.Kind(rawValue: $0) }) {
        kinds.insert(kind)
      } else {
        let isOfType = element.string != nil || element.kind.isNumber
        throw error(
          "$type must contain the names or the numbers of types.",
          isOfType ? .badValue : .typeMismatch
        )
      }
    }
    return kinds
  }

  private mutating func negated(
    _ steps: [FieldName], _ operand: BSON
  ) throws(OperatorError) -> Predicate {
    if case .regularExpression = operand { return .field(steps, .pattern(try pattern(operand))) }
    guard let document = operand.document, document.isExpression() else {
      throw error("$not must contain operators or a regular expression.")
    }
    return try operators(steps, document)
  }

  private mutating func everyValue(
    _ steps: [FieldName], _ operand: BSON
  ) throws(OperatorError) -> Predicate {
    guard let elements = operand.array else { throw error("$all must be an array.") }
    // An empty list matches nothing.
    guard !elements.isEmpty else { return .any([]) }
    var parts: [Predicate] = []
    let isElementMatch = elements[0].document?.first?.name.text == "$elemMatch"
    for (index, element) in elements.enumerated() {
      path.append(String(index))
      if let document = element.document, document.isExpression() {
        guard isElementMatch, document.names == ["$elemMatch"] else {
          throw error("$all must contain values, or only $elemMatch.")
        }
        parts.append(try operators(steps, document))
      } else {
        guard !isElementMatch else { throw error("$all must contain values, or only $elemMatch.") }
        parts.append(try field(steps, element))
      }
      path.removeLast()
    }
    return .all(parts)
  }

  private mutating func elementMatch(_ operand: BSON) throws(OperatorError) -> Test {
    guard let document = operand.document else { throw error("$elemMatch must be an object.") }
    let isLogical = ["$and", "$or", "$nor"].contains(document.first?.name.text)
    if document.isExpression(withPartOfReference: true), !isLogical {
      return .element(try operators([], document), isDocument: false)
    }
    return .element(try query(document), isDocument: true)
  }

  private mutating func pattern(
    _ operand: BSON, options: BSON? = nil
  ) throws(OperatorError) -> Pattern {
    guard patterns.take() else {
      throw error("A request may have at most \(PatternAllowance.limit) regular expressions.")
    }
    guard options == nil || options?.string != nil else {
      throw error("$options must be a string.")
    }
    switch operand {
    case .string(let source):
      return try pattern(source, options?.string ?? "")
    case .regularExpression(let source, let own):
      guard own.isEmpty || options == nil else {
        throw error("The options are given twice.", .regexOptionsTwice)
      }
      return try pattern(source, options?.string ?? own)
    default: throw error("$regex must be a string or a regular expression.")
    }
  }

  private func pattern(_ source: String, _ options: String) throws(OperatorError) -> Pattern {
    do throws(PatternError) {
      return try Pattern(source, options: options)
    } catch {
      switch error {
      case .options:
        throw self.error(
          "The options of a regular expression must be i, m, s or x.", .invalidRegexOptions
        )
      case .syntax(let detail): throw self.error(detail, .invalidRegex)
      }
    }
  }

  // MARK: Errors

  private mutating func count() throws(OperatorError) {
    conditions += 1
    guard conditions <= Self.conditionLimit else {
      throw error("A query may have at most \(Self.conditionLimit) conditions.")
    }
  }

  private var pointer: String { JSONPointer(tokens: path).description }

  private func unknown(_ name: String, _ place: String) -> OperatorError {
    error(
      QueryOperator.withheld.contains(name)
        ? "MongoDB's \(name) is not offered." : "There is no operator \(name) for \(place)."
    )
  }

  func error(_ detail: String, _ code: OperatorError.Code = .badValue) -> OperatorError {
    OperatorError(code, detail, pointer: pointer)
  }
}

extension BSONDocument {
  /// Returns whether the document contains operators: its first name begins with a dollar, and it
  /// is not a reference.
  ///
  /// A reference has `$ref` and `$id`. If `isPartEnough` is true, one of `$ref`, `$id` and `$db` is
  /// enough.
  func isExpression(withPartOfReference isPartEnough: Bool = false) -> Bool {
    guard let name = first?.name, name.isDollarPrefixed else { return false }
    if isPartEnough { return !["$ref", "$id", "$db"].contains(name.text) }
    return self["$ref"] == nil || self["$id"] == nil
  }
}

/// The operands of `$mod` and of the bit operators.
extension QueryParser {
  func modulo(_ operand: BSON) throws(OperatorError) -> Modulo {
    guard let elements = operand.array, elements.count == 2, let divisor = elements[0].truncated,
      let remainder = elements[1].truncated
    else { throw error("$mod must be an array of two numbers: the divisor and the remainder.") }
    guard divisor != 0 else { throw error("The divisor of $mod must not be 0.") }
    return Modulo(divisor: divisor, remainder: remainder)
  }

  /// Returns the positions of the set bits of a mask, or of a list of positions.
  func bits(_ operand: BSON) throws(OperatorError) -> BitMask {
    switch operand {
    case .array(let positions):
      guard positions.count <= Self.bitLimit else {
        throw error("A test of bits may have at most \(Self.bitLimit) positions.")
      }
      var mask = BitMask()
      for position in positions {
        guard let position = position.integer, (0...Int(Int32.max)).contains(position) else {
          throw error("The positions of bits must be whole numbers that are not negative.")
        }
        mask.positions.append(position)
      }
      return mask
    case .binary(let bytes, _):
      guard bytes.count <= Self.bitLimit / 8 else {
        throw error("A mask of bits may have at most \(Self.bitLimit / 8) bytes.")
      }
      return BitMask(positions: (0..<bytes.count * 8).filter { bytes[$0 / 8] >> ($0 % 8) & 1 == 1 })
    default:
      guard let mask = operand.integer, mask >= 0 else {
        throw error("Bits must be a non-negative mask, binary data or a list of positions.")
      }
      return BitMask(positions: (0..<63).filter { mask >> $0 & 1 == 1 })
    }
  }

  /// More positions than any client needs.
  private static let bitLimit = 4_096
}

/// The operand of `$mod`.
struct Modulo: Sendable {
  let divisor: Int64
  let remainder: Int64

  /// Returns whether a value is a number with this remainder.
  ///
  /// Fractions are cut off first.
  func fits(_ value: BSON) -> Bool {
    guard let number = value.truncated else { return false }
    // The least integer divided by -1 does not fit 64 bits. Its remainder is 0.
    return (divisor == -1 ? 0 : number % divisor) == remainder
  }
}

/// The operand of `$bitsAllSet` and the other bit operators.
struct BitMask: Sendable {
  var positions: [Int] = []

  /// Returns whether a value is an integer or binary data whose bits pass the operator.
  func fits(_ value: BSON, _ operation: QueryOperator) -> Bool {
    let isSet: (Int) -> Bool
    if case .binary(let bytes, _) = value {
      isSet = { $0 / 8 < bytes.count && bytes[$0 / 8] >> ($0 % 8) & 1 == 1 }
    } else if value.kind.isNumber, let number = value.integer {
      // Sign extension sets all higher bits of a negative number.
      isSet = { number >> min($0, 63) & 1 == 1 }
    } else {
      return false
    }
    return switch operation {
    case .bitsAllSet: positions.allSatisfy(isSet)
    case .bitsAllClear: !positions.contains(where: isSet)
    case .bitsAnySet: positions.contains(where: isSet)
    default: !positions.allSatisfy(isSet)
    }
  }
}

extension BSON {
  /// The number without its fraction.
  ///
  /// Nil if the value is not a number or does not fit 64 bits.
  fileprivate var truncated: Int64? {
    switch self {
    case .int32(let value): Int64(value)
    case .int64(let value): value
    case .double(let number): Int64(exactly: number.value.rounded(.towardZero))
    case .decimal(let number): number.truncated
    default: nil
    }
  }
}
