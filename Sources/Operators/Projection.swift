package import JSON

/// The fields of a document to return, in MongoDB's projection language.
///
/// Dotted paths or nested objects name the fields, either to include or to exclude. `_id` is
/// included unless it is excluded. Operators and expressions are rejected.
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
  /// - Parameter json: an object; an empty one includes all fields.
  /// - Throws: `.badValue` or `.failedToParse` if the projection is invalid, with the pointer.
  package init(_ json: JSON) throws(OperatorError) {
    var parser = ProjectionParser()
    try parser.read(try BSONDocument(json), at: [], pointer: [])
    isInclusion = parser.isInclusion ?? (parser.showsID == true)
    var root = parser.root
    // `_id` is the only field that an inclusion may exclude. It is included by default.
    let id = FieldName("_id")
    if isInclusion, root[id] == nil, parser.showsID != false { root[id] = .whole }
    if !isInclusion, parser.showsID == false { root[id] = .whole }
    self.root = root
  }

  /// Returns the document with the projected fields.
  ///
  /// - Throws: `.maxTimeExpired` if the budget is used up.
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
      // Each field is copied into a new list with its name.
      try budget.spend(4)
      try document.payForField(position, &budget)
      guard let field = fields.next() else { break }
      guard let value = try shown(parts[field.name], of: field.value, &budget) else { continue }
      result.append(field.name, value)
    }
    return result
  }

  /// Returns the projected part of a value under a node, or nil if nothing remains.
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
    // The node names fields, but the value is not a document.
    case (.parts, _): return isInclusion ? nil : value
    }
  }
}

private struct ProjectionParser {
  var root: [FieldName: Projection.Node] = [:]
  /// Nil until a field other than `_id` is named.
  var isInclusion: Bool?
  /// Whether `_id` as a whole is included.
  ///
  /// Nil if the projection does not name it.
  var showsID: Bool?
  private var paths = 0

  /// More paths than any client needs.
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
        throw OperatorError(.badValue, "This is not a valid path of a field.", pointer: name)
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
        "A field of a projection must be 1 or 0; expressions are not offered.",
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
        "A projection may have at most \(Self.pathLimit) paths.",
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
        "A projection must either include fields or exclude fields.",
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
        "There is a path collision: one path contains another.",
        pointer: pointer
      )
    }
  }
}
