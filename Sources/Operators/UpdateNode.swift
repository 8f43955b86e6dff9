/// The changes below one place of a document.
///
/// All paths of an update form one tree.
///
/// The document is traversed once. Each array and object is copied at most once.
indirect enum UpdateNode: Sendable {
  case leaf(UpdateLeaf)
  case fields([FieldName: UpdateNode])
  /// Changes of every element, and of the elements that match a filter.
  case elements(all: UpdateNode?, filtered: [String: UpdateNode])

  /// Creates the tree of a single path.
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

  /// A placeholder for the index of the element that the query found.
  ///
  /// No name in a path can equal it.
  static let found = FieldName("$")

  /// Returns the tree with `found` replaced by the index.
  ///
  /// - Throws: `.badValue` if the query found no index, `.conflictingUpdateOperators` if the update
  ///   also changes that index by name.
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
            .badValue, "The positional operator did not find the match needed from the query.",
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

  /// Rejects new top-level names that begin with a dollar.
  ///
  /// Only a new document may have them, but they can be removed.
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

  /// Merges another tree into this one.
  ///
  /// - Parameters:
  ///   - other: a tree for the same place.
  ///   - place: the place of both trees in the document, as far as it is known.
  /// - Throws: `.conflictingUpdateOperators` if both change the same place, or one changes a place
  ///   within the other's.
  mutating func merge(_ other: UpdateNode, at place: [String]) throws(OperatorError) {
    switch (self, other) {
    case (.fields(var mine), .fields(let theirs)):
      // The dictionary has no other owner here, so it is changed in place.
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
        .conflictingUpdateOperators, "Two changes of the update meet at one place.",
        pointer: other.firstLeaf?.pointer ?? "", path: place.joined(separator: ".")
      )
    }
  }

  static func merge(
    _ node: UpdateNode, into slot: inout UpdateNode?, at place: [String]
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

/// An operation with its location in the request.
struct UpdateLeaf: Sendable {
  let operation: UpdateOperation
  /// The path as the client wrote it.
  let path: String
  let pointer: String
}

extension UpdateOperation {
  fileprivate var isRemoval: Bool {
    if case .unset = self { return true }
    return false
  }
}
