/// What an update does below one place; all paths of an update are one tree.
///
/// The document is walked once, with each array and object copied at most once.
indirect enum UpdateNode: Sendable {
  case leaf(UpdateLeaf)
  case fields([FieldName: UpdateNode])
  /// What is done to every element, and to those that a filter lets pass.
  case elements(all: UpdateNode?, filtered: [String: UpdateNode])

  /// The tree of a single path.
  init(_ leaf: UpdateLeaf, at parts: ArraySlice<UpdatePath.Part>) {
    guard let part = parts.first else {
      self = .leaf(leaf)
      return
    }
    let rest = UpdateNode(leaf, at: parts.dropFirst())
    switch part {
    case .name(let name): self = .fields([name: rest])
    case .all: self = .elements(all: rest, filtered: [:])
    case .filtered(let identifier): self = .elements(all: nil, filtered: [identifier: rest])
    }
  }

  /// Takes another tree into this one.
  ///
  /// - Parameters:
  ///   - other: for the same place.
  ///   - place: of both in the document, as far as it is known.
  /// - Throws: `.conflictingUpdateOperators` when both change one place, or one a place within the
  ///   other's.
  mutating func merge(_ other: UpdateNode, at place: [String]) throws(OperatorError) {
    switch (self, other) {
    case (.fields(var mine), .fields(let theirs)):
      // Held here alone, the dictionary is changed where it is.
      self = .fields([:])
      for (name, node) in theirs {
        try Self.merge(node, into: &mine[name], at: place + [name.text])
      }
      self = .fields(mine)
    case (.elements(var all, var filtered), .elements(let otherAll, let otherFiltered)):
      self = .fields([:])
      if let otherAll { try Self.merge(otherAll, into: &all, at: place + ["$[]"]) }
      for (identifier, node) in otherFiltered {
        try Self.merge(node, into: &filtered[identifier], at: place + ["$[\(identifier)]"])
      }
      self = .elements(all: all, filtered: filtered)
    default:
      throw OperatorError(
        .conflictingUpdateOperators,
        "Two changes of the update meet at one place.",
        pointer: other.firstLeaf?.pointer ?? "",
        path: place.joined(separator: ".")
      )
    }
  }

  static func merge(
    _ node: UpdateNode,
    into slot: inout UpdateNode?,
    at place: [String]
  ) throws(OperatorError) {
    guard var merged = slot else {
      slot = node
      return
    }
    slot = nil
    try merged.merge(node, at: place)
    slot = merged
  }

  var firstLeaf: UpdateLeaf? { firstLeaf { _ in true } }

  func firstLeaf(where condition: (UpdateLeaf) -> Bool) -> UpdateLeaf? {
    switch self {
    case .leaf(let leaf): return condition(leaf) ? leaf : nil
    case .fields(let children):
      for (_, child) in children.sorted(by: { $0.key < $1.key }) {
        if let leaf = child.firstLeaf(where: condition) { return leaf }
      }
      return nil
    case .elements(let all, let filtered):
      if let leaf = all?.firstLeaf(where: condition) { return leaf }
      for (_, child) in filtered.sorted(by: { $0.key < $1.key }) {
        if let leaf = child.firstLeaf(where: condition) { return leaf }
      }
      return nil
    }
  }
}

/// An operation, and where it was asked for.
struct UpdateLeaf: Sendable {
  let operation: UpdateOperation
  /// As the client wrote it.
  let path: String
  let pointer: String
}
