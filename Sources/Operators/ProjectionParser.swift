internal import JSON

/// Parses projections.
struct ProjectionParser {
  var root: [FieldName: Projection.Node] = [:]
  /// Nil until a field other than `_id` is named.
  var isInclusion: Bool?
  /// Whether `_id` as a whole is included.
  ///
  /// Nil if the projection does not name it.
  var showsID: Bool?
  /// The path before the positional `$`.
  private(set) var positionalPath: [FieldName]?
  private let query: Query?
  private let patterns: PatternAllowance
  private var hasSlice = false
  private var hasElementMatch = false
  private var paths = 0

  /// More paths than any client needs.
  private static let pathLimit = 1_000

  init(_ query: Query?, _ patterns: PatternAllowance) {
    (self.query, self.patterns) = (query, patterns)
  }

  /// Whether the projection includes fields.
  ///
  /// Without a field that decides, `$slice` excludes, unless `_id` is included, and `$elemMatch`
  /// includes.
  var result: Bool { isInclusion ?? (showsID == true || hasElementMatch && !hasSlice) }

  mutating func read(
    _ document: BSONDocument, at path: [FieldName], pointer: [String]
  ) throws(OperatorError) {
    for field in document {
      let place = pointer + [field.name.text]
      let name = JSONPointer(tokens: place).description
      guard !field.name.isDollarPrefixed else {
        throw Self.error("A projection with the operator \(field.name.text) is not offered.", name)
      }
      var parts = try FieldName.parts(of: field.name.text, pointer: name, ifEmpty: .badValue)
      let isPositional = query != nil && parts.last?.text == "$"
      if isPositional { parts.removeLast() }
      let full = path + parts
      guard !full.isEmpty, !full.contains(where: \.isDollarPrefixed),
        full.count <= FieldName.pathLimit
      else { throw Self.error("This is not a valid path of a field.", name) }
      if isPositional {
        try addPositional(full, field.value, name)
      } else if case .document(let inner) = field.value, !inner.isEmpty {
        if let node = try selection(inner, of: full, at: place) {
          try insert(node, at: full, name)
        } else {
          try read(inner, at: full, pointer: place)
        }
      } else {
        try add(full, isShown: try Self.flag(field.value, name), name)
      }
    }
  }

  // MARK: Elements of arrays

  private mutating func addPositional(
    _ path: [FieldName], _ value: BSON, _ pointer: String
  ) throws(OperatorError) {
    guard try Self.flag(value, pointer) else {
      throw Self.error("A positional projection cannot exclude a field.", pointer)
    }
    guard positionalPath == nil else {
      throw Self.error("A projection may have at most one positional $.", pointer)
    }
    guard !hasElementMatch else {
      throw Self.error("A projection must not have both a positional $ and $elemMatch.", pointer)
    }
    guard let first = path.first, query?.root.names.contains(first) == true else {
      throw Self.error("The positional projection does not match the query document.", pointer)
    }
    try include(true, pointer)
    try insert(.positional, at: path, pointer)
    positionalPath = path
  }

  /// Parses `$slice` or `$elemMatch`; returns nil for a nested projection.
  private mutating func selection(
    _ document: BSONDocument, of path: [FieldName], at place: [String]
  ) throws(OperatorError) -> Projection.Node? {
    guard query != nil, document.count == 1, let field = document.first else { return nil }
    let place = place + [field.name.text]
    let pointer = JSONPointer(tokens: place).description
    switch field.name.text {
    case "$slice":
      hasSlice = true
      return .slice(try Self.slice(field.value, pointer))
    case "$elemMatch":
      guard field.value.document != nil else {
        throw Self.error("$elemMatch must be an object.", pointer)
      }
      guard positionalPath == nil else {
        throw Self.error("A projection must not have both a positional $ and $elemMatch.", pointer)
      }
      guard path.count == 1 else {
        throw Self.error("$elemMatch cannot be used on a nested field.", pointer)
      }
      hasElementMatch = true
      var parser = QueryParser(patterns, at: place.dropLast())
      return .elementMatch(Query(try parser.operators(path, document)))
    default: return nil
    }
  }

  private static func slice(
    _ operand: BSON, _ pointer: String
  ) throws(OperatorError) -> Projection.Slice {
    if let limit = operand.wholePart { return Projection.Slice(skip: nil, limit: limit) }
    guard let elements = operand.array, elements.count == 2,
      let skip = elements[0].wholePart, let limit = elements[1].wholePart, limit > 0
    else {
      throw error("$slice must be a number, or [skip, limit] with a limit above 0.", pointer)
    }
    return Projection.Slice(skip: skip, limit: limit)
  }

  private static func flag(_ value: BSON, _ pointer: String) throws(OperatorError) -> Bool {
    switch value {
    case .bool, .int32, .int64, .double, .decimal: return value.isTruthy
    default:
      throw OperatorError(
        .badValue, "A field of a projection must be 1 or 0; expressions are not offered.",
        pointer: pointer
      )
    }
  }

  private mutating func add(
    _ path: [FieldName], isShown: Bool, _ pointer: String
  ) throws(OperatorError) {
    if path == [FieldName("_id")] {
      try count(pointer)
      showsID = isShown
      return
    }
    try include(isShown, pointer)
    try insert(.whole, at: path, pointer)
  }

  private mutating func include(_ isShown: Bool, _ pointer: String) throws(OperatorError) {
    guard isInclusion ?? isShown == isShown else {
      throw Self.error("A projection must either include fields or exclude fields.", pointer)
    }
    isInclusion = isShown
  }

  private mutating func count(_ pointer: String) throws(OperatorError) {
    paths += 1
    guard paths <= Self.pathLimit else {
      throw Self.error("A projection may have at most \(Self.pathLimit) paths.", pointer)
    }
  }

  private mutating func insert(
    _ node: Projection.Node, at path: [FieldName], _ pointer: String
  ) throws(OperatorError) {
    try count(pointer)
    try Self.insert(node, at: path[...], into: &root, pointer)
  }

  private static func insert(
    _ node: Projection.Node, at path: ArraySlice<FieldName>,
    into parts: inout [FieldName: Projection.Node], _ pointer: String
  ) throws(OperatorError) {
    guard let name = path.first else { return }
    let rest = path.dropFirst()
    switch parts[name] {
    case nil where rest.isEmpty: parts[name] = node
    case nil:
      var inner: [FieldName: Projection.Node] = [:]
      try insert(node, at: rest, into: &inner, pointer)
      parts[name] = .parts(inner)
    case .parts(var inner) where !rest.isEmpty:
      try insert(node, at: rest, into: &inner, pointer)
      parts[name] = .parts(inner)
    default:
      throw error("There is a path collision: one path contains another.", pointer)
    }
  }

  private static func error(_ detail: String, _ pointer: String) -> OperatorError {
    OperatorError(.badValue, detail, pointer: pointer)
  }
}

extension BSON {
  /// The whole part of a number, within the range of an int32; nil for another type.
  ///
  /// NaN counts as zero.
  fileprivate var wholePart: Int? {
    switch self {
    case .int32(let value): Int(value)
    case .int64(let value): Int(Int32(clamping: value))
    case .double(let number): Self.wholePart(number.value)
    case .decimal(let number): Self.wholePart(number.double)
    default: nil
    }
  }

  private static func wholePart(_ value: Double) -> Int {
    value.isNaN ? 0 : Int(min(max(value, -0x1p31), 0x1p31 - 1))
  }
}
