/// Reads and changes at a path, for the operations of a patch.
///
/// A change temporarily takes a value out of its container, since a container with one reference
/// need not be copied. After an error, the value must not be used.
extension JSON {
  /// Returns the value at a place; nil if the place does not exist.
  package func value(at pointer: JSONPointer) -> JSON? { try? value(at: pointer.tokens[...]) }

  func value(at tokens: ArraySlice<String>) throws(PatchFault) -> JSON {
    var value = self
    for token in tokens {
      switch value {
      case .object(let object):
        guard let member = object[token] else { throw Self.absent(token) }
        value = member
      case .array(let array): value = array[try Self.index(token, below: array.count)]
      default: throw Self.absent(token)
      }
    }
    return value
  }

  mutating func add(
    _ value: JSON, at tokens: ArraySlice<String>, _ budget: inout PatchBudget
  ) throws(PatchFault) {
    guard !tokens.isEmpty else {
      self = value
      return
    }
    try change(tokens) { (parent: inout JSON, token: String) throws(PatchFault) in
      switch parent.take() {
      case .object(var object):
        object[token] = value
        parent = .object(object)
      case .array(var array):
        let index = token == "-" ? array.count : try Self.index(token, below: array.count + 1)
        try budget.shift(array.count - index)
        array.insert(value, at: index)
        parent = .array(JSONArray(array))
      case .other: throw Self.absent(token)
      }
    }
  }

  mutating func remove(
    at tokens: ArraySlice<String>, _ budget: inout PatchBudget
  ) throws(PatchFault) -> JSON {
    guard !tokens.isEmpty else { throw .place("The whole document cannot be removed.") }
    var removed = JSON.null
    try change(tokens) { (parent: inout JSON, token: String) throws(PatchFault) in
      switch parent.take() {
      case .object(var object):
        guard let member = object[token] else { throw Self.absent(token) }
        removed = member
        object[token] = nil
        parent = .object(object)
      case .array(var array):
        let index = try Self.index(token, below: array.count)
        try budget.shift(array.count - index)
        removed = array.remove(at: index)
        parent = .array(JSONArray(array))
      case .other: throw Self.absent(token)
      }
    }
    return removed
  }

  mutating func replace(with value: JSON, at tokens: ArraySlice<String>) throws(PatchFault) {
    guard !tokens.isEmpty else {
      self = value
      return
    }
    try change(tokens) { (parent: inout JSON, token: String) throws(PatchFault) in
      switch parent.take() {
      case .object(var object):
        guard object[token] != nil else { throw Self.absent(token) }
        object[token] = value
        parent = .object(object)
      case .array(var array):
        array[try Self.index(token, below: array.count)] = value
        parent = .array(JSONArray(array))
      case .other: throw Self.absent(token)
      }
    }
  }

  /// Changes the container that all tokens except the last lead to.
  private mutating func change(
    _ tokens: ArraySlice<String>, _ last: (inout JSON, String) throws(PatchFault) -> Void
  ) throws(PatchFault) {
    guard let token = tokens.first else { return }
    guard tokens.count > 1 else { return try last(&self, token) }
    switch take() {
    case .object(var object):
      guard var child = object.take(token) else { throw Self.absent(token) }
      try child.change(tokens.dropFirst(), last)
      object[token] = child
      self = .object(object)
    case .array(var array):
      try array[try Self.index(token, below: array.count)].change(tokens.dropFirst(), last)
      self = .array(JSONArray(array))
    case .other: throw Self.absent(token)
    }
  }

  private enum Container {
    case object(JSONObject)
    case array([JSON])
    case other
  }

  /// Takes out the container to change, and leaves null.
  private mutating func take() -> Container {
    switch consume self {
    case .object(let object):
      self = .null
      return .object(object)
    case .array(let array):
      self = .null
      return .array(array.list())
    case let other:
      self = other
      return .other
    }
  }

  /// Returns an array index: digits without a leading zero.
  private static func index(_ token: String, below count: Int) throws(PatchFault) -> Int {
    guard let index = Int(token), index >= 0, String(index).hasSameBytes(as: token) else {
      throw .place("\(token) is not an index.")
    }
    guard index < count else { throw .place("The index \(index) is past the end.") }
    return index
  }

  private static func absent(_ token: String) -> PatchFault {
    .place("There is nothing at \(token).")
  }
}

/// The cost limit of one patch, so that none takes much longer than parsing its document.
struct PatchBudget {
  /// The remaining steps; at the start about 100 ms of work.
  private var steps = 1_000_000

  mutating func spend(_ count: Int) throws(PatchFault) {
    steps -= count
    guard steps >= 0 else {
      throw .place("The patch takes too many steps on this document.")
    }
  }

  /// Spends the cost of moving array elements by one place, many at once.
  mutating func shift(_ count: Int) throws(PatchFault) { try spend(1 + count / 256) }
}
