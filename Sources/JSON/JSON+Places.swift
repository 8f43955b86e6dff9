/// Reading and changing a value at a place, as the operations of a patch do.
extension JSON {
  func value(at tokens: ArraySlice<String>) throws(PatchFault) -> JSON {
    guard let token = tokens.first else { return self }
    switch self {
    case .object(let object):
      guard let member = object[token] else { throw Self.absent(token) }
      return try member.value(at: tokens.dropFirst())
    case .array(let array):
      let index = try Self.index(token, below: array.count)
      return try array[index].value(at: tokens.dropFirst())
    default: throw Self.absent(token)
    }
  }

  mutating func add(_ value: JSON, at tokens: ArraySlice<String>) throws(PatchFault) {
    guard let token = tokens.first else {
      self = value
      return
    }
    try change(tokens) { (parent: inout JSON) throws(PatchFault) in
      switch parent {
      case .object(var object):
        object[token] = value
        parent = .object(object)
      case .array(var array):
        let index = token == "-" ? array.count : try Self.index(token, below: array.count + 1)
        array.insert(value, at: index)
        parent = .array(array)
      default: throw Self.absent(token)
      }
    } descend: { (child: inout JSON) throws(PatchFault) in
      try child.add(value, at: tokens.dropFirst())
    }
  }

  mutating func remove(at tokens: ArraySlice<String>) throws(PatchFault) -> JSON {
    let removed = try value(at: tokens)
    guard let token = tokens.first else { throw .place("The whole document cannot be removed.") }
    try change(tokens) { (parent: inout JSON) throws(PatchFault) in
      switch parent {
      case .object(var object):
        object[token] = nil
        parent = .object(object)
      case .array(var array):
        array.remove(at: try Self.index(token, below: array.count))
        parent = .array(array)
      default: throw Self.absent(token)
      }
    } descend: { (child: inout JSON) throws(PatchFault) in
      _ = try child.remove(at: tokens.dropFirst())
    }
    return removed
  }

  mutating func replace(with value: JSON, at tokens: ArraySlice<String>) throws(PatchFault) {
    guard let token = tokens.first else {
      self = value
      return
    }
    _ = try self.value(at: tokens)
    try change(tokens) { (parent: inout JSON) throws(PatchFault) in
      switch parent {
      case .object(var object):
        object[token] = value
        parent = .object(object)
      case .array(var array):
        array[try Self.index(token, below: array.count)] = value
        parent = .array(array)
      default: throw Self.absent(token)
      }
    } descend: { (child: inout JSON) throws(PatchFault) in
      try child.replace(with: value, at: tokens.dropFirst())
    }
  }

  /// Changes this value when only one token is left, else the child that the first one names.
  private mutating func change(
    _ tokens: ArraySlice<String>,
    _ last: (inout JSON) throws(PatchFault) -> Void,
    descend: (inout JSON) throws(PatchFault) -> Void
  ) throws(PatchFault) {
    guard tokens.count > 1, let token = tokens.first else { return try last(&self) }
    switch self {
    case .object(var object):
      guard var child = object[token] else { throw Self.absent(token) }
      try descend(&child)
      object[token] = child
      self = .object(object)
    case .array(var array):
      let index = try Self.index(token, below: array.count)
      try descend(&array[index])
      self = .array(array)
    default: throw Self.absent(token)
    }
  }

  /// An index of an array: digits without a leading zero.
  private static func index(_ token: String, below count: Int) throws(PatchFault) -> Int {
    guard let index = Int(token), String(index) == token, index >= 0 else {
      throw .place("\(token) is not an index.")
    }
    guard index < count else { throw .place("The index \(index) is past the end.") }
    return index
  }

  private static func absent(_ token: String) -> PatchFault {
    .place("There is nothing at \(token).")
  }

  /// Arrays and objects within each other.
  var depth: Int {
    switch self {
    case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
    case .object(let object): 1 + (object.map(\.value.depth).max() ?? 0)
    default: 0
    }
  }
}
