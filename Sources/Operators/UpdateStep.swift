/// The tree of an update, prepared for one traversal.
///
/// The fields of each place are sorted once, and not again for each element of an array.
indirect enum UpdateStep {
  case leaf(UpdateLeaf)
  case fields([Field])
  case elements(ElementSteps)

  struct Field {
    let name: FieldName
    /// The index that the name denotes in an array.
    let index: Int?
    let step: UpdateStep
  }

  init(_ node: UpdateNode, _ filters: [String: Query]) {
    switch node {
    case .leaf(let leaf): self = .leaf(leaf)
    case .fields(let children):
      self = .fields(
        children.sorted { $0.key < $1.key }
          .map { Field(name: $0.key, index: $0.key.index, step: UpdateStep($0.value, filters)) }
      )
    case .elements(let all, let filtered):
      self = .elements(ElementSteps(all, filtered, filters))
    }
  }

  /// Whether `$[]` or `$[identifier]` changes elements here, or below through fields only.
  var changesElements: Bool {
    switch self {
    case .leaf: false
    case .elements: true
    case .fields(let fields): fields.contains(where: \.step.changesElements)
    }
  }

  var firstLeaf: UpdateLeaf? { firstLeaf { _ in true } }

  func firstLeaf(where condition: (UpdateLeaf) -> Bool) -> UpdateLeaf? {
    switch self {
    case .leaf(let leaf): return condition(leaf) ? leaf : nil
    case .fields(let fields):
      for field in fields {
        if let leaf = field.step.firstLeaf(where: condition) { return leaf }
      }
      return nil
    case .elements(let elements): return elements.node.firstLeaf(where: condition)
    }
  }
}

/// The changes of an array's elements: of all, and of the elements that match filters.
///
/// Elements that match the same filters share one step, which is built once.
final class ElementSteps {
  let node: UpdateNode
  let filters: [Query]
  private let all: UpdateNode?
  /// The nodes in the order of `filters`.
  private let filtered: [UpdateNode]
  private let known: [String: Query]
  private var steps: [UInt64: UpdateStep?] = [:]

  init(_ all: UpdateNode?, _ filtered: [String: UpdateNode], _ known: [String: Query]) {
    node = .elements(all: all, filtered: filtered)
    self.all = all
    self.known = known
    let used = filtered.sorted { $0.key < $1.key }
      .compactMap { identifier, node in
        known[identifier].map { (identifier: identifier, node: node, filter: $0) }
      }
    self.filtered = used.map(\.node)
    identifiers = used.map(\.identifier)
    filters = used.map(\.filter)
  }

  /// The identifiers of the filters, which are the names that they use for an element.
  let identifiers: [String]

  /// Returns the change of an element.
  ///
  /// - Parameters:
  ///   - passed: a bit for each filter that the element matches. An update has at most 64 filters.
  ///   - place: the element's place in the document, for errors.
  ///   - budget: the budget to charge for a step that must be built.
  /// - Returns: the step, or nil if the element does not change.
  /// - Throws: `.conflictingUpdateOperators` if two filters change one place, `.maxTimeExpired` if
  ///   the budget is used up.
  func step(
    _ passed: UInt64, at place: [String], _ budget: inout Budget
  ) throws(OperatorError) -> UpdateStep? {
    if let step = steps[passed] { return step }
    let nodes = filtered.indices.filter { passed >> $0 & 1 == 1 }.map { filtered[$0] }
    // The nodes are sorted and put into dictionaries.
    try budget.spend(8 * nodes.reduce(all?.size ?? 0) { $0 + $1.size })
    var merged = all
    for node in nodes { try UpdateNode.merge(node, into: &merged, at: place) }
    let step = merged.map { UpdateStep($0, known) }
    steps[passed] = .some(step)
    return step
  }
}

extension UpdateNode {
  /// The number of nodes, including this one.
  fileprivate var size: Int {
    switch self {
    case .leaf: 1
    case .fields(let children): children.values.reduce(1) { $0 + $1.size }
    case .elements(let all, let filtered):
      filtered.values.reduce(1 + (all?.size ?? 0)) { $0 + $1.size }
    }
  }
}
