/// A JSON value that keeps the order of members and the spelling of numbers.
///
/// In a parsed value, arrays and objects are references into the text, and their parts are created
/// on access. Two values are equal if their strings have the same bytes and their numbers the same
/// value.
/// - Source: RFC 8259.
package enum JSON: Sendable {
  case null
  case bool(Bool)
  case number(JSONNumber)
  case string(String)
  case array(JSONArray)
  case object(JSONObject)

  package static func array(_ elements: [JSON]) -> JSON { .array(JSONArray(elements)) }

  package var string: String? {
    if case .string(let value) = self { return value }
    return nil
  }

  package var object: JSONObject? {
    if case .object(let value) = self { return value }
    return nil
  }

  package var array: JSONArray? {
    if case .array(let value) = self { return value }
    return nil
  }

  package var number: JSONNumber? {
    if case .number(let value) = self { return value }
    return nil
  }

  package var bool: Bool? {
    if case .bool(let value) = self { return value }
    return nil
  }

  /// Returns a member; nil if it is absent, or if this is not an object.
  package subscript(_ key: String) -> JSON? { object?[key] }
}

extension JSON: Equatable {
  package static func == (first: JSON, second: JSON) -> Bool {
    switch (first, second) {
    case (.null, .null): true
    case (.bool(let first), .bool(let second)): first == second
    case (.number(let first), .number(let second)): first == second
    case (.string(let first), .string(let second)): first.hasSameBytes(as: second)
    case (.array(let first), .array(let second)): first == second
    case (.object(let first), .object(let second)): first == second
    default: false
    }
  }
}

/// There is no `nil` literal: for a `JSON?`, it would silently become `.null`.
extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral,
  ExpressibleByDictionaryLiteral
{
  package init(stringLiteral value: String) { self = .string(value) }
  package init(integerLiteral value: Int) { self = .number(JSONNumber(value)) }
  package init(booleanLiteral value: Bool) { self = .bool(value) }
  package init(arrayLiteral elements: JSON...) { self = .array(elements) }

  package init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(JSONObject(elements))
  }
}

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

/// The size of a value.
package struct Extent: Sendable {
  /// The number of values, including the value itself.
  package fileprivate(set) var values = 1
  /// The number of objects, including the value itself.
  package fileprivate(set) var objects = 0
  /// The depth of nested arrays and objects.
  package fileprivate(set) var depth = 0

  fileprivate mutating func add(_ part: Extent) {
    values += part.values
    objects += part.objects
    depth = max(depth, part.depth + 1)
  }
}

extension JSON {
  package var extent: Extent {
    var extent = Extent()
    switch self {
    case .array(let array):
      if let (text, node) = array.place { return text.extent(of: node) }
      extent.depth = 1
      for element in array { extent.add(element.extent) }
    case .object(let object):
      if let (text, node) = object.place { return text.extent(of: node) }
      extent.depth = 1
      extent.objects = 1
      for (_, value) in object { extent.add(value.extent) }
    case .null, .bool, .number, .string: break
    }
    return extent
  }
}

extension JSONText {
  fileprivate func extent(of node: JSONNode) -> Extent {
    var extent = Extent()
    switch node.kind {
    case .array:
      extent.depth = 1
      for part in nodes[node.start..<node.start + node.count] { extent.add(self.extent(of: part)) }
    case .object:
      extent.depth = 1
      extent.objects = 1
      for member in 0..<node.count {
        extent.add(self.extent(of: nodes[node.start + 2 * member + 1]))
      }
    case .null, .false, .true, .number, .string: break
    }
    return extent
  }
}

/// The member order of PostgreSQL's `jsonb`: shorter keys first, then by bytes.
extension JSON {
  /// Returns the value with the members of all its objects in that order.
  ///
  /// - Complexity: O(*n*) if they are already in order, as in stored values, else O(*n* log *n*).
  package func inStoredOrder() -> JSON {
    guard !isInStoredOrder else { return self }
    var writer = JSONWriter()
    Self.write(self, to: &writer)
    // The writer's output is valid JSON.
    return (try? JSON.parse(writer.bytes, limits: .none)) ?? self
  }

  private var isInStoredOrder: Bool {
    switch self {
    case .null, .bool, .number, .string: return true
    case .array(let elements):
      if let (text, node) = elements.place { return text.isInStoredOrder(node) }
      return elements.allSatisfy(\.isInStoredOrder)
    case .object(let object):
      if let (text, node) = object.place { return text.isInStoredOrder(node) }
      let keys = object.keys
      return zip(keys, keys.dropFirst()).allSatisfy { Self.isOrdered($0.utf8, $1.utf8) }
        && object.allSatisfy(\.value.isInStoredOrder)
    }
  }

  private static func write(_ json: JSON, to writer: inout JSONWriter) {
    switch json {
    case .null, .bool, .number, .string: writer.value(json)
    case .array(let elements):
      writer.beginArray()
      for element in elements { write(element, to: &writer) }
      writer.endArray()
    case .object(let object):
      writer.beginObject()
      for (key, value) in object.sorted(by: { isOrdered($0.key.utf8, $1.key.utf8) }) {
        writer.key(key)
        write(value, to: &writer)
      }
      writer.endObject()
    }
  }

  fileprivate static func isOrdered(
    _ first: some Collection<UInt8>, _ second: some Collection<UInt8>
  ) -> Bool {
    first.count == second.count
      ? first.lexicographicallyPrecedes(second) : first.count < second.count
  }
}

extension JSONText {
  fileprivate func isInStoredOrder(_ node: JSONNode) -> Bool {
    switch node.kind {
    case .null, .false, .true, .number, .string: true
    case .array: nodes[node.start..<node.start + node.count].allSatisfy(isInStoredOrder)
    case .object:
      (0..<node.count).allSatisfy { member in
        let place = node.start + 2 * member
        return isInStoredOrder(nodes[place + 1])
          && (member == 0 || JSON.isOrdered(slice(nodes[place - 2]), slice(nodes[place])))
      }
    }
  }
}

/// The order of one object's keys during parsing, for duplicates and for lookups.
struct KeyOrder {
  /// The first member whose key duplicates an earlier one.
  private(set) var repeated: Int?
  /// Whether a key begins with a dollar.
  private(set) var hasDollar = false
  /// The member positions in `jsonb`'s key order, for `JSONText.ranked`; empty for few members.
  private(set) var ranks: [JSONNode] = []

  /// Sorts the keys of an object.
  ///
  /// - Parameters:
  ///   - nodes: alternating keys and values.
  ///   - parser: the parser that read them.
  /// - Complexity: O(*n* log *n*).
  init(_ nodes: ArraySlice<JSONNode>, in parser: JSONParser) {
    let count = nodes.count / 2
    let first = nodes.startIndex
    for member in 0..<count where parser.slice(nodes[first + 2 * member]).first == 0x24 {
      hasDollar = true
      break
    }
    if count <= JSONText.linearLimit {
      for member in 0..<count {
        let key = nodes[first + 2 * member]
        for other in 0..<member where nodes[first + 2 * other].count == key.count {
          guard parser.slice(nodes[first + 2 * other]).elementsEqual(parser.slice(key)) else {
            continue
          }
          repeated = member
          return
        }
      }
      return
    }
    let ranked = (0..<count)
      .map { (key: Self.abbreviation(nodes[first + 2 * $0], in: parser), member: $0) }
      .sorted { one, other in
        guard one.key == other.key else { return one.key < other.key }
        let keys = (nodes[first + 2 * one.member], nodes[first + 2 * other.member])
        guard keys.0.count == keys.1.count else { return keys.0.count < keys.1.count }
        let texts = (parser.slice(keys.0), parser.slice(keys.1))
        if texts.0.lexicographicallyPrecedes(texts.1) { return true }
        return one.member < other.member && texts.0.elementsEqual(texts.1)
      }
    for (one, other) in zip(ranked, ranked.dropFirst()) where one.key == other.key {
      let keys = (nodes[first + 2 * one.member], nodes[first + 2 * other.member])
      guard keys.0.count == keys.1.count,
        parser.slice(keys.0).elementsEqual(parser.slice(keys.1))
      else { continue }
      repeated = min(repeated ?? .max, other.member)
    }
    for place in stride(from: 0, to: count, by: 2) {
      let next = place + 1 < count ? ranked[place + 1].member : 0
      ranks.append(JSONNode(.null, start: ranked[place].member, count: next))
    }
  }

  /// Returns the length and the first seven bytes as one number, which orders most keys.
  private static func abbreviation(_ key: JSONNode, in parser: JSONParser) -> UInt64 {
    let bytes = parser.slice(key).prefix(7)
    let text = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } << UInt64(8 * (7 - bytes.count))
    return UInt64(min(key.count, 0xff)) << 56 | text
  }
}
