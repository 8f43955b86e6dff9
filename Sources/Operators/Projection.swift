package import JSON

/// The fields of a document to return, in MongoDB's projection language.
///
/// Dotted paths or nested objects name the fields, either to include or to exclude. `_id` is
/// included unless it is excluded. `$slice`, `$elemMatch` and the positional `$` select elements of
/// arrays. Other operators and expressions are rejected.
/// - Source: MongoDB manual, "Project fields to return from query", "Projection operators".
package struct Projection: Sendable {
  indirect enum Node: Sendable {
    case whole
    case parts([FieldName: Node])
    case slice(Slice)
    /// The first element that the query matches: a query with one `$elemMatch` on the field.
    case elementMatch(Query)
    /// A part of the path of the positional `$`, which is included as a whole.
    case positional
  }

  /// The elements of an array that `$slice` keeps.
  struct Slice: Sendable {
    /// From the end if it is negative; nil for a limit only.
    let skip: Int?
    /// The last elements if it is negative, which needs `skip` to be nil.
    let limit: Int

    func range(of count: Int) -> Range<Int> {
      let start =
        switch skip {
        case nil: limit < 0 ? max(count + limit, 0) : 0
        case let skip? where skip < 0: max(count + skip, 0)
        case let skip?: min(skip, count)
        }
      return start..<(start + min(limit < 0 ? count : limit, count - start))
    }
  }

  private let root: [FieldName: Node]
  private let isInclusion: Bool
  /// The path before the positional `$`; nil if the projection has none.
  private let positionalPath: [FieldName]?

  /// Whether the projection needs the position of a match.
  package var isPositional: Bool { positionalPath != nil }

  /// Reads a projection from Extended JSON.
  ///
  /// - Parameters:
  ///   - json: an object; an empty one includes all fields.
  ///   - query: the query that selects the documents; nil for a stage of an aggregation, which has
  ///     no operators.
  ///   - patterns: the allowance shared by all parsers of one request.
  /// - Throws: `.badValue` or `.failedToParse` if the projection is invalid, with the pointer.
  package init(
    _ json: JSON, of query: Query? = nil, _ patterns: PatternAllowance = PatternAllowance()
  ) throws(OperatorError) {
    var parser = ProjectionParser(query, patterns)
    try parser.read(try BSONDocument(json), at: [], pointer: [])
    isInclusion = parser.result
    var root = parser.root
    // `_id` is the only field that an inclusion may exclude. It is included by default.
    let id = FieldName("_id")
    if isInclusion, root[id] == nil, parser.showsID != false { root[id] = .whole }
    if !isInclusion, parser.showsID == false { root[id] = .whole }
    self.root = root
    positionalPath = parser.positionalPath
  }

  /// Returns the document with the projected fields.
  ///
  /// - Parameters:
  ///   - document: the document.
  ///   - position: the index of the array element that the query found; see `Query.Match`.
  ///   - budget: the budget of the call.
  /// - Returns: the part of the document.
  /// - Throws: `.maxTimeExpired` if the budget is used up, `.badValue` if the projection is
  ///   positional and the query found no element of the array.
  package func apply(
    to document: BSONDocument, position: Int? = nil, _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    let result = try shown(root, of: document, &budget)
    guard let positionalPath else { return result }
    return try found(positionalPath[...], in: result, position, &budget)
  }

  /// Returns the document with the first array on a path reduced to the element that was found.
  private func found(
    _ path: ArraySlice<FieldName>, in document: BSONDocument, _ position: Int?,
    _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    guard let name = path.first, let value = try document.field(name, &budget) else {
      return document
    }
    var result = document
    let new: BSON
    switch value {
    case .array(let elements):
      guard let position, elements.indices.contains(position) else {
        throw OperatorError(
          .badValue, "The positional operator did not find the match needed from the query.",
          path: path.map(\.text).joined(separator: ".")
        )
      }
      new = .array([try elements.element(position, &budget)])
    case .document(let inner):
      new = .document(try found(path.dropFirst(), in: inner, position, &budget))
    default: return document
    }
    if let place = result.position(of: name) { result.put(new, at: place) }
    return result
  }

  /// Returns the projected fields of a document.
  ///
  /// `$slice` does not reach documents in an array of an array (`isNested`).
  private func shown(
    _ parts: [FieldName: Node], of document: BSONDocument, isNested: Bool = false,
    _ budget: inout Budget
  ) throws(OperatorError) -> BSONDocument {
    var result = BSONDocument()
    var fields = document.makeIterator()
    for position in 0..<document.count {
      // Each field is copied into a new list with its name.
      try budget.spend(4)
      try document.payForField(position, &budget)
      guard let field = fields.next() else { break }
      let node = parts[field.name]
      let value =
        if case .elementMatch(let query) = node {
          try firstElement(of: field, matching: query, &budget)
        } else {
          try shown(node, of: field.value, isNested, &budget)
        }
      if let value { result.append(field.name, value) }
    }
    return result
  }

  /// Returns the projected part of a value under a node, or nil if nothing remains.
  private func shown(
    _ node: Node?, of value: BSON, _ isNested: Bool, _ budget: inout Budget
  ) throws(OperatorError) -> BSON? {
    switch (node, value) {
    case (nil, _): return isInclusion ? nil : value
    case (.whole, _): return isInclusion ? value : nil
    case (.parts(let parts), .document(let document)):
      return .document(try shown(parts, of: document, isNested: isNested, &budget))
    case (.parts, .array(let elements)):
      var result: [BSON] = []
      for index in elements.indices {
        try budget.spend(1)
        let element = try elements.element(index, &budget)
        let isNested = isNested || element.array != nil
        if let element = try shown(node, of: element, isNested, &budget) { result.append(element) }
      }
      return .array(result)
    // The node names fields, but the value is not a document.
    case (.parts, _): return isInclusion ? nil : value
    case (.slice(let slice), .array(let elements)) where !isNested:
      var result: [BSON] = []
      for index in slice.range(of: elements.count) {
        try budget.spend(1)
        result.append(try elements.element(index, &budget))
      }
      return .array(result)
    case (.slice, _), (.elementMatch, _), (.positional, _): return value
    }
  }

  private func firstElement(
    of field: BSONDocument.Field, matching query: Query, _ budget: inout Budget
  ) throws(OperatorError) -> BSON? {
    let document = BSONDocument(field.name.text, field.value)
    guard let elements = field.value.array,
      let position = try query.match(document, &budget)?.position
    else { return nil }
    return .array([try elements.element(position, &budget)])
  }
}
