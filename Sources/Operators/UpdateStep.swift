/// The tree of an update as one walk goes by it: the fields of each place in their order, which is
/// found once and not at each element of an array.
indirect enum UpdateStep {
  case leaf(UpdateLeaf)
  case fields([Field])
  case elements(ElementSteps)

  struct Field {
    let name: FieldName
    /// What the name means in an array.
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

  /// Whether elements of an array are changed at the place or below it, through fields only.
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

/// What is done to the elements of an array: to all, and to those that filters let pass.
///
/// Elements that the same filters let pass take the same way, which is put together once.
final class ElementSteps {
  let node: UpdateNode
  let filters: [Query]
  private let all: UpdateNode?
  /// In the order of `filters`.
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

  /// By what names the filters call an element.
  let identifiers: [String]

  /// What is done to an element.
  ///
  /// - Parameters:
  ///   - passed: the filters that let it pass, a bit for each: an update has 64 at most.
  ///   - place: where it is, for errors.
  ///   - budget: is charged for a way that is new.
  /// - Returns: nil for nothing.
  /// - Throws: `.conflictingUpdateOperators`, `.maxTimeExpired`.
  func step(
    _ passed: UInt64,
    at place: [String],
    _ budget: inout Budget
  ) throws(OperatorError) -> UpdateStep? {
    if let step = steps[passed] { return step }
    let nodes = filtered.indices.filter { passed >> $0 & 1 == 1 }.map { filtered[$0] }
    // Nodes are put into dictionaries, and sorted.
    try budget.spend(8 * nodes.reduce(all?.size ?? 0) { $0 + $1.size })
    var merged = all
    for node in nodes { try UpdateNode.merge(node, into: &merged, at: place) }
    let step = merged.map { UpdateStep($0, known) }
    steps[passed] = .some(step)
    return step
  }
}

extension UpdateNode {
  /// How many there are, this one among them.
  fileprivate var size: Int {
    switch self {
    case .leaf: 1
    case .fields(let children): children.values.reduce(1) { $0 + $1.size }
    case .elements(let all, let filtered):
      filtered.values.reduce(1 + (all?.size ?? 0)) { $0 + $1.size }
    }
  }
}
