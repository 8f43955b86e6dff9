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
  package func apply(to document: BSONDocument) -> BSONDocument {
    isInclusion ? Self.shown(root, of: document) : Self.others(than: root, of: document)
  }

  private static func shown(_ parts: [FieldName: Node], of document: BSONDocument) -> BSONDocument {
    var result = BSONDocument()
    for field in document {
      guard let node = parts[field.name], let value = shown(node, of: field.value) else { continue }
      result.append(field.name, value)
    }
    return result
  }

  /// Nil for what is not a document where fields of one are named.
  private static func shown(_ node: Node, of value: BSON) -> BSON? {
    guard case .parts(let parts) = node else { return value }
    switch value {
    case .document(let document): return .document(shown(parts, of: document))
    case .array(let elements): return .array(elements.compactMap { shown(node, of: $0) })
    default: return nil
    }
  }

  private static func others(
    than parts: [FieldName: Node],
    of document: BSONDocument
  ) -> BSONDocument {
    var result = BSONDocument()
    for field in document {
      switch parts[field.name] {
      case nil: result.append(field.name, field.value)
      case .whole: break
      case let node?: result.append(field.name, others(than: node, of: field.value))
      }
    }
    return result
  }

  private static func others(than node: Node, of value: BSON) -> BSON {
    guard case .parts(let parts) = node else { return value }
    switch value {
    case .document(let document): return .document(others(than: parts, of: document))
    case .array(let elements): return .array(elements.map { others(than: node, of: $0) })
    default: return value
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
      let full = path + (try FieldName.parts(of: field.name.text, pointer: name))
      guard full.allSatisfy({ !$0.text.isEmpty && !$0.isDollarPrefixed }),
        full.count <= FieldName.pathLimit
      else {
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
