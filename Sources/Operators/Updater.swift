internal import JSON

/// One application of an update to one document.
struct Updater {
  let filters: [String: Query]
  let now: Int64
  let isInsertion: Bool
  private var budget: Budget
  /// The values that renames move, by the target's path as it was written.
  private var moved: [ExactString: BSON] = [:]
  /// Where the walk is.
  private var place: [String] = []

  /// MongoDB's bound on the nulls that one new index may put before itself.
  private static let paddingLimit = 1_500_000

  init(filters: [String: Query], now: Int64, isInsertion: Bool, budget: Budget) {
    self.filters = filters
    self.now = now
    self.isInsertion = isInsertion
    self.budget = budget
  }

  mutating func update(
    _ document: BSONDocument,
    by root: UpdateNode,
    _ renames: [Update.Rename]
  ) throws(OperatorError) -> (BSONDocument, isModified: Bool) {
    for rename in renames {
      if let value = try Self.value(to: rename, in: document) {
        moved[ExactString(rename.leaf.path)] = value
      }
    }
    var slot: BSON? = .document(document)
    let isModified = try apply(root, to: &slot)
    return (slot?.document ?? BSONDocument(), isModified)
  }

  // MARK: The walk

  /// Does to a value, or to the lack of one, what the tree says; whether that changed it.
  private mutating func apply(
    _ node: UpdateNode,
    to slot: inout BSON?
  ) throws(OperatorError) -> Bool {
    try budget.spend(1)
    switch (node, slot) {
    case (.leaf(let leaf), _): return try perform(leaf, on: &slot)
    case (.fields(let children), nil):
      var document = BSONDocument()
      let isModified = try change(&document, by: children)
      if isModified { slot = .document(document) }
      return isModified
    case (.fields(let children), .document):
      var document = Self.takeDocument(from: &slot)
      let isModified = try change(&document, by: children)
      slot = .document(document)
      return isModified
    case (.fields(let children), .array):
      var array = Self.takeList(from: &slot)
      let isModified = try change(&array, by: children)
      slot = .array(array)
      return isModified
    case (.fields(let children), let value?):
      for (name, child) in Self.sorted(children) { try deadEnd(child, name, in: value) }
      return false
    case (.elements(let all, let filtered), .array):
      var array = Self.takeList(from: &slot)
      let isModified = try change(&array, by: all, filtered)
      slot = .array(array)
      return isModified
    case (.elements, let value):
      throw error(
        .badValue,
        value == nil
          ? "There must be an array for its elements to be changed."
          : "The elements of what is no array cannot be changed.",
        node.firstLeaf
      )
    }
  }

  /// Takes out what is to be changed, so that it need not be copied: it is held by the caller alone.
  private static func takeDocument(from slot: inout BSON?) -> BSONDocument {
    defer { slot = nil }
    return slot?.document ?? BSONDocument()
  }

  private static func takeList(from slot: inout BSON?) -> [BSON] {
    defer { slot = nil }
    return slot?.array?.list() ?? []
  }

  private mutating func change(
    _ document: inout BSONDocument,
    by children: [FieldName: UpdateNode]
  ) throws(OperatorError) -> Bool {
    var isModified = false
    var removed: Set<Int> = []
    for (name, child) in Self.sorted(children) {
      place.append(name.text)
      let position = document.position(of: name)
      var slot = position.map { document.take(at: $0) }
      if try apply(child, to: &slot) { isModified = true }
      switch (position, slot) {
      case (let position?, let value?): document.put(value, at: position)
      case (let position?, nil): removed.insert(position)
      case (nil, let value?): document.append(name, value)
      case (nil, nil): break
      }
      place.removeLast()
    }
    document.remove(at: removed)
    return isModified
  }

  private mutating func change(
    _ array: inout [BSON],
    by children: [FieldName: UpdateNode]
  ) throws(OperatorError) -> Bool {
    var isModified = false
    for (name, child) in Self.sorted(children) {
      guard let index = name.index else {
        try deadEnd(child, name, in: .array([BSON]()))
        continue
      }
      place.append(name.text)
      if index < array.count {
        if try applyToElement(index, of: &array, child) { isModified = true }
      } else {
        var slot: BSON?
        if try apply(child, to: &slot), let value = slot {
          let padding = index - array.count
          guard padding <= Self.paddingLimit else {
            throw error(
              .cannotBackfillArray,
              "At most \(Self.paddingLimit) nulls are put before a new element.",
              child.firstLeaf
            )
          }
          try budget.grow(by: 5 * padding)
          array.append(contentsOf: repeatElement(.null, count: padding))
          array.append(value)
          isModified = true
        }
      }
      place.removeLast()
    }
    return isModified
  }

  /// `$[]` and `$[identifier]`.
  private mutating func change(
    _ array: inout [BSON],
    by all: UpdateNode?,
    _ filtered: [String: UpdateNode]
  ) throws(OperatorError) -> Bool {
    var isModified = false
    for index in array.indices {
      place.append(String(index))
      var node = all
      for (identifier, child) in filtered {
        guard let filter = filters[identifier] else { continue }
        let element = BSON.document(BSONDocument(identifier, array[index]))
        guard try filter.matches(element, &budget) else { continue }
        try UpdateNode.merge(child, into: &node, at: place)
      }
      try budget.spend(1)
      if let node, try applyToElement(index, of: &array, node) { isModified = true }
      place.removeLast()
    }
    return isModified
  }

  /// What is removed from an array leaves null behind.
  private mutating func applyToElement(
    _ index: Int,
    of array: inout [BSON],
    _ node: UpdateNode
  ) throws(OperatorError) -> Bool {
    let wasNull = array[index] == .null
    var slot: BSON? = array[index]
    array[index] = .null
    let isModified = try apply(node, to: &slot)
    guard let slot else { return isModified && !wasNull }
    array[index] = slot
    return isModified
  }

  private static func sorted(
    _ children: [FieldName: UpdateNode]
  ) -> [(key: FieldName, value: UpdateNode)] {
    children.sorted { $0.key < $1.key }
  }

  // MARK: Ends of the walk

  /// A path that leads through what has no such fields; only some changes may let that be.
  private mutating func deadEnd(
    _ node: UpdateNode,
    _ name: FieldName,
    in value: BSON
  ) throws(OperatorError) {
    if node.changesElements {
      throw error(
        .badValue,
        "There must be an array for its elements to be changed.",
        node.firstLeaf,
        name.text
      )
    }
    var visited = 0
    let leaf = node.firstLeaf { leaf in
      visited += 1
      return switch leaf.operation {
      case .unset: false
      case .setOnInsert: isInsertion
      case .rename: moved[ExactString(leaf.path)] != nil
      default: true
      }
    }
    // Each is a place in a sorted tree.
    try spend(8 * visited)
    guard let leaf else { return }
    throw error(
      .pathNotViable,
      "There cannot be a field \(name.text) in a value of type \(value.kind.alias).",
      leaf,
      name.text
    )
  }

  func error(
    _ code: OperatorError.Code,
    _ detail: String,
    _ leaf: UpdateLeaf?,
    _ name: String? = nil
  ) -> OperatorError {
    let path = (place + (name.map { [$0] } ?? [])).joined(separator: ".")
    return OperatorError(code, detail, pointer: leaf?.pointer ?? "", path: path)
  }

  func moved(to leaf: UpdateLeaf) -> BSON? { moved[ExactString(leaf.path)] }

  mutating func spend(_ steps: Int) throws(OperatorError) { try budget.spend(steps) }

  mutating func grow(by value: BSON) throws(OperatorError) { try budget.grow(by: value.size) }

  mutating func matches(_ query: Query, _ value: BSON) throws(OperatorError) -> Bool {
    try query.matches(value, &budget)
  }

  /// The value at the source of a rename; nil when there is none.
  private static func value(
    to rename: Update.Rename,
    in document: BSONDocument
  ) throws(OperatorError) -> BSON? {
    func error(_ code: OperatorError.Code, _ detail: String, _ path: [FieldName]) -> OperatorError {
      let path = path.map(\.text).joined(separator: ".")
      return OperatorError(code, detail, pointer: rename.leaf.pointer, path: path)
    }
    func value(at path: [FieldName], isSource: Bool) throws(OperatorError) -> BSON? {
      var value = BSON.document(document)
      for name in path {
        switch value {
        case .document(let document):
          guard let next = document[name] else { return nil }
          value = next
        case .array: throw error(.badValue, "$rename does not reach into arrays.", path)
        default:
          guard isSource else { return nil }
          throw error(.pathNotViable, "There cannot be a field \(name.text) here.", path)
        }
      }
      return value
    }
    guard let source = try value(at: rename.source, isSource: true) else { return nil }
    _ = try value(at: rename.target, isSource: false)
    return source
  }
}
