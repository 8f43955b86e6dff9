package import JSON

/// Which fields of a document are shown, in MongoDB's projection language.
///
/// Fields are named by dotted paths or by objects within each other, either those to show or those
/// to leave out; `_id` is shown unless it is left out. Operators and expressions are refused.
/// - Source: MongoDB manual, "Project fields to return from query".
package struct Projection: Sendable {
  indirect enum Node: Sendable {
    case whole
    case parts([FieldName: Node])
  }

  private let root: [FieldName: Node]
  private let isInclusion: Bool

  /// Reads a projection from Extended JSON.
  ///
  /// - Parameter json: an object; an empty one shows everything.
  /// - Throws: `.badValue` or `.failedToParse`, with the pointer to what is wrong.
  package init(_ json: JSON) throws(OperatorError) {
    var parser = ProjectionParser()
    try parser.read(try BSONDocument(json), at: [], pointer: [])
    isInclusion = parser.isInclusion ?? (parser.showsID == true)
    var root = parser.root
    // `_id` alone may be left out of what is shown, and is shown unless it is.
    let id = FieldName("_id")
    if isInclusion, root[id] == nil, parser.showsID != false { root[id] = .whole }
    if !isInclusion, parser.showsID == false { root[id] = .whole }
    self.root = root
  }

  /// What is shown of a document.
  ///
  /// - Throws: `.maxTimeExpired` when that takes more steps than there are left.
  package func apply(
    to document: BSONDocument,
    _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    try shown(root, of: document, &budget)
  }

  private func shown(
    _ parts: [FieldName: Node],
    of document: BSONDocument,
    _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    var result = BSONDocument()
    var fields = document.makeIterator()
    for position in 0..<document.count {
      // Fields are made anew, and put in a list with their names.
      try budget.spend(4)
      try document.payForField(position, &budget)
      guard let field = fields.next() else { break }
      guard let value = try shown(parts[field.name], of: field.value, &budget) else { continue }
      result.append(field.name, value)
    }
    return result
  }

  /// What is shown of a value with that node; nil for nothing.
  private func shown(
    _ node: Node?,
    of value: BSON,
    _ budget: inout Budget
  ) throws(OperatorError) -> BSON? {
    switch (node, value) {
    case (nil, _): return isInclusion ? nil : value
    case (.whole, _): return isInclusion ? value : nil
    case (.parts(let parts), .document(let document)):
      return .document(try shown(parts, of: document, &budget))
    case (.parts, .array(let elements)):
      var result: [BSON] = []
      for index in elements.indices {
        try budget.spend(1)
        let element = try elements.element(index, &budget)
        if let element = try shown(node, of: element, &budget) { result.append(element) }
      }
      return .array(result)
    // What is no document, where fields of one are named.
    case (.parts, _): return isInclusion ? nil : value
    }
  }
}

private struct ProjectionParser {
  var root: [FieldName: Projection.Node] = [:]
  /// Nil while no field but `_id` was named.
  var isInclusion: Bool?
  /// What is said of `_id` as a whole; nil when nothing is.
  var showsID: Bool?
  private var paths = 0

  /// More than any client has use for.
  private static let pathLimit = 1_000

  mutating func read(
    _ document: BSONDocument,
    at path: [FieldName],
    pointer: [String]
  ) throws(OperatorError) {
    for field in document {
      let place = pointer + [field.name.text]
      let name = JSONPointer(tokens: place).description
      guard !field.name.isDollarPrefixed else {
        throw OperatorError(
          .badValue,
          "A projection with the operator \(field.name.text) is not offered.",
          pointer: name
        )
      }
      let parts = try FieldName.parts(of: field.name.text, pointer: name, ifEmpty: .badValue)
      let full = path + parts
      guard !full.contains(where: \.isDollarPrefixed), full.count <= FieldName.pathLimit else {
        throw OperatorError(.badValue, "This is no path of a field.", pointer: name)
      }
      if case .document(let inner) = field.value, !inner.isEmpty {
        try read(inner, at: full, pointer: place)
      } else {
        try add(full, isShown: try Self.flag(field.value, name), name)
      }
    }
  }

  private static func flag(_ value: BSON, _ pointer: String) throws(OperatorError) -> Bool {
    switch value {
    case .bool, .int32, .int64, .double, .decimal: return value.isTruthy
    default:
      throw OperatorError(
        .badValue,
        "A projection says 1 or 0 of a field; expressions are not offered.",
        pointer: pointer
      )
    }
  }

  private mutating func add(
    _ path: [FieldName],
    isShown: Bool,
    _ pointer: String
  ) throws(OperatorError) {
    paths += 1
    guard paths <= Self.pathLimit else {
      throw OperatorError(
        .badValue,
        "A projection may have \(Self.pathLimit) paths.",
        pointer: pointer
      )
    }
    if path == [FieldName("_id")] {
      showsID = isShown
      return
    }
    guard isInclusion ?? isShown == isShown else {
      throw OperatorError(
        .badValue,
        "A projection shows fields or leaves fields out, and not both.",
        pointer: pointer
      )
    }
    isInclusion = isShown
    try Self.insert(path[...], into: &root, pointer)
  }

  private static func insert(
    _ path: ArraySlice<FieldName>,
    into parts: inout [FieldName: Projection.Node],
    _ pointer: String
  ) throws(OperatorError) {
    guard let name = path.first else { return }
    let rest = path.dropFirst()
    switch parts[name] {
    case nil where rest.isEmpty: parts[name] = .whole
    case nil:
      var inner: [FieldName: Projection.Node] = [:]
      try insert(rest, into: &inner, pointer)
      parts[name] = .parts(inner)
    case .parts(var inner) where !rest.isEmpty:
      try insert(rest, into: &inner, pointer)
      parts[name] = .parts(inner)
    default:
      throw OperatorError(
        .badValue,
        "There is a path collision: one path leads through another.",
        pointer: pointer
      )
    }
  }
}
