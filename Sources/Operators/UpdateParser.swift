internal import JSON

/// Parses updates.
struct UpdateParser {
  /// The maximum number of pairs of operator and path: more than any client needs.
  private static let pathLimit = 1_000
  private static let filterLimit = 64

  private let patterns: PatternAllowance
  private var root = UpdateNode.fields([:])
  private var renames: [Update.Rename] = []
  private var paths = 0
  /// The identifiers in the paths, each with a pointer to one path that uses it.
  private var identifiers: [String: String] = [:]

  private init(_ patterns: PatternAllowance) { self.patterns = patterns }

  static func operators(
    _ document: BSONDocument, _ arrayFilters: JSONArray, _ patterns: PatternAllowance
  ) throws(OperatorError) -> Update.Content {
    var parser = UpdateParser(patterns)
    for field in document { try parser.read(field) }
    let filters = try parser.filters(arrayFilters)
    for (identifier, pointer) in parser.identifiers where filters[identifier] == nil {
      throw OperatorError(
        .badValue, "There is no array filter for the identifier \(identifier).", pointer: pointer
      )
    }
    for (identifier, filter) in filters where parser.identifiers[identifier] == nil {
      throw OperatorError(
        .failedToParse, "The array filter for the identifier \(identifier) is not used.",
        pointer: filter.pointer
      )
    }
    return .operators(parser.root, renames: parser.renames, filters: filters.mapValues(\.query))
  }

  static func replacement(
    _ document: BSONDocument, _ arrayFilters: JSONArray
  ) throws(OperatorError) -> BSONDocument {
    guard arrayFilters.isEmpty else {
      throw OperatorError(
        .failedToParse, "A replacement must not have array filters.", pointer: "/arrayFilters"
      )
    }
    if let field = document.first(where: \.name.isDollarPrefixed) {
      throw OperatorError(
        .dollarPrefixedFieldName, "The name \(field.name.text) must not begin with a dollar.",
        pointer: JSONPointer(tokens: [field.name.text]).description
      )
    }
    return document
  }

  // MARK: Operators

  private mutating func read(_ field: BSONDocument.Field) throws(OperatorError) {
    let name = field.name.text
    let pointer = JSONPointer(tokens: [name]).description
    guard let `operator` = UpdateOperator(rawValue: name) else {
      throw OperatorError(.failedToParse, "Unknown modifier: \(name).", pointer: pointer)
    }
    guard let changes = field.value.document else {
      throw OperatorError(.failedToParse, "\(name) must be an object of paths.", pointer: pointer)
    }
    for change in changes {
      paths += 1
      guard paths <= Self.pathLimit else {
        throw OperatorError(
          .badValue, "An update may have at most \(Self.pathLimit) paths.", pointer: pointer
        )
      }
      let place = [name, change.name.text]
      let pointer = JSONPointer(tokens: place).description
      let path = try UpdatePath(change.name.text, pointer: pointer)
      if `operator` == .rename {
        try rename(path, to: change.value, pointer)
        continue
      }
      let parser = OperandParser(place: place, patterns: patterns)
      if let operation = try parser.operation(`operator`, change.value) {
        try add(operation, at: path, pointer)
      }
    }
  }

  private mutating func add(
    _ operation: UpdateOperation, at path: UpdatePath, _ pointer: String
  ) throws(OperatorError) {
    let leaf = UpdateLeaf(operation: operation, path: path.text, pointer: pointer)
    try root.merge(UpdateNode(leaf, at: path.parts[...]), at: [])
    for case .filtered(let identifier) in path.parts { identifiers[identifier] = pointer }
  }

  private mutating func rename(
    _ source: UpdatePath, to operand: BSON, _ pointer: String
  ) throws(OperatorError) {
    guard let text = operand.string else {
      throw OperatorError(.badValue, "The new path of $rename must be a string.", pointer: pointer)
    }
    let target = try UpdatePath(text, pointer: pointer)
    guard let from = source.names, let to = target.names else {
      throw OperatorError(
        .badValue, "The paths of $rename must not contain $ or $[].", pointer: pointer
      )
    }
    for path in [source, target] where path.isDollarPrefixed {
      throw UpdatePath.dollarPrefixed(path.text, pointer: pointer)
    }
    guard !from.starts(with: to), !to.starts(with: from) else {
      throw OperatorError(
        .badValue, "The paths of $rename must differ, and neither may contain the other.",
        pointer: pointer
      )
    }
    try add(.unset, at: source, pointer)
    try add(.rename(from: from), at: target, pointer)
    let leaf = UpdateLeaf(operation: .rename(from: from), path: target.text, pointer: pointer)
    renames.append(Update.Rename(source: from, target: to, leaf: leaf))
  }

  // MARK: Array filters

  private func filters(
    _ arrayFilters: JSONArray
  ) throws(OperatorError) -> [String: (query: Query, pointer: String)] {
    guard arrayFilters.count <= Self.filterLimit else {
      throw OperatorError(
        .badValue, "An update may have at most \(Self.filterLimit) array filters.",
        pointer: "/arrayFilters"
      )
    }
    var filters: [String: (query: Query, pointer: String)] = [:]
    for (index, json) in arrayFilters.enumerated() {
      let place = ["arrayFilters", String(index)]
      let pointer = JSONPointer(tokens: place).description
      guard json.object != nil else {
        throw OperatorError(.failedToParse, "An array filter must be an object.", pointer: pointer)
      }
      let document = try BSONDocument(json)
      var parser = QueryParser(patterns, at: place)
      let query = Query(try parser.query(document))
      let identifiers = Set(query.root.names)
      guard identifiers.count == 1, let identifier = identifiers.first else {
        throw OperatorError(
          .failedToParse, "An array filter must be about one identifier.", pointer: pointer
        )
      }
      guard UpdatePath.isIdentifier(identifier.text) else {
        throw OperatorError(
          .badValue,
          "An identifier must have only letters and digits, and begin with a small letter.",
          pointer: pointer
        )
      }
      guard filters[identifier.text] == nil else {
        throw OperatorError(
          .failedToParse, "Two array filters have the identifier \(identifier.text).",
          pointer: pointer
        )
      }
      filters[identifier.text] = (query, pointer)
    }
    return filters
  }
}
