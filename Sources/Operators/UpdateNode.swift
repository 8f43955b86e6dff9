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
    case .found: self = .fields([Self.found: rest])
    }
  }

  /// Stands for the index of the element that the query found, until that is known; no name of a
  /// path is like it.
  static let found = FieldName("$")

  /// The tree with the index in the place of `found`.
  ///
  /// - Throws: `.badValue` when there is none, `.conflictingUpdateOperators` when that index is
  ///   changed besides.
  func resolved(_ position: Int?, at place: [String] = []) throws(OperatorError) -> UpdateNode {
    switch self {
    case .leaf: return self
    case .fields(let children):
      var resolved: [FieldName: UpdateNode] = [:]
      for (name, child) in children where name != Self.found {
        resolved[name] = try child.resolved(position, at: place + [name.text])
      }
      if let child = children[Self.found] {
        guard let position else {
          throw OperatorError(
            .badValue,
            "The positional operator did not find the match needed from the query.",
            pointer: firstLeaf?.pointer ?? ""
          )
        }
        let name = FieldName(String(position))
        let place = place + [name.text]
        try Self.merge(try child.resolved(position, at: place), into: &resolved[name], at: place)
      }
      return .fields(resolved)
    case .elements(let all, let filtered):
      var resolved: [String: UpdateNode] = [:]
      for (name, child) in filtered {
        resolved[name] = try child.resolved(position, at: place + ["$[\(name)]"])
      }
      return .elements(all: try all?.resolved(position, at: place + ["$[]"]), filtered: resolved)
    }
  }

  /// Refuses new names that begin with a dollar at the top, where only a document that is made may
  /// have them; they can be removed.
  func checkNames() throws(OperatorError) {
    guard case .fields(let children) = self else { return }
    for (name, child) in children where name.isDollarPrefixed {
      guard let leaf = child.firstLeaf(where: { !$0.operation.isRemoval }) else { continue }
      throw UpdatePath.dollarPrefixed(name.text, pointer: leaf.pointer)
    }
  }

  var usesFound: Bool {
    switch self {
    case .leaf: false
    case .fields(let children):
      children[Self.found] != nil || children.values.contains(where: \.usesFound)
    case .elements(let all, let filtered):
      all?.usesFound ?? false || filtered.values.contains(where: \.usesFound)
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

extension UpdateOperation {
  fileprivate var isRemoval: Bool {
    if case .unset = self { return true }
    return false
  }
}
