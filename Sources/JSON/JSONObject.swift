/// The members of an object, in order: a list, or a reference into a parsed text.
///
/// Keys compare by bytes, like PostgreSQL's: `é` as one scalar and as two are different keys,
/// although Swift's strings are equal. The first change converts a reference to a list, whose
/// values remain references.
package struct JSONObject: Sendable, Sequence {
  fileprivate enum Storage: Sendable {
    /// One element, or none for the empty object.
    ///
    /// So an object is no larger than a reference.
    case list([JSONMembers])
    case text(JSONText, JSONNode)
  }

  private var storage: Storage = .list([])

  package init() {}

  /// Creates an object.
  ///
  /// If a key is duplicated, the last value counts.
  package init(_ members: [(String, JSON)]) {
    guard !members.isEmpty else { return }
    var list = JSONMembers()
    list.reserveCapacity(members.count)
    for (key, value) in members { list.set(key, value) }
    storage = .list([list])
  }

  init(_ text: JSONText, _ node: JSONNode) { storage = .text(text, node) }

  /// The position in the text; nil for an object that was created or changed.
  var place: (text: JSONText, node: JSONNode)? {
    if case .text(let text, let node) = storage { return (text, node) }
    return nil
  }

  package var count: Int {
    switch storage {
    case .list(let members): members.first?.count ?? 0
    case .text(_, let node): node.count
    }
  }

  /// Gets or sets a member.
  ///
  /// Setting nil removes it; a new member comes last.
  package subscript(_ key: String) -> JSON? {
    get {
      switch storage {
      case .list(let members): members.first?.value(of: key)
      case .text(let text, let node): text.member(key, of: node).map(text.value)
      }
    }
    set {
      if newValue == nil, count == 0 { return }
      change { $0.set(key, newValue) }
      if count == 0 { storage = .list([]) }
    }
  }

  /// Takes a value out for a change in place, and leaves null until it is put back.
  mutating func take(_ key: String) -> JSON? { change { $0.take(key) } }

  package var keys: [String] { map(\.key) }

  /// Whether a key begins with a dollar.
  package var hasDollarKey: Bool {
    switch storage {
    case .list: contains { $0.key.utf8.first == UInt8(ascii: "$") }
    case .text(_, let node): node.isMarked
    }
  }

  package func makeIterator() -> Iterator { Iterator(storage: storage) }

  package struct Iterator: IteratorProtocol {
    fileprivate let storage: Storage
    private var position = 0

    fileprivate init(storage: Storage) { self.storage = storage }

    package mutating func next() -> (key: String, value: JSON)? {
      switch storage {
      case .list(let list): return list.first?.next(from: &position)
      case .text(let text, let node):
        guard position < node.count else { return nil }
        let start = node.start + 2 * position
        position += 1
        return (text.string(text.nodes[start]), text.value(text.nodes[start + 1]))
      }
    }
  }

  private mutating func change<Value>(_ body: (inout JSONMembers) -> Value) -> Value {
    var list: [JSONMembers]
    switch storage {
    case .list(let members): list = members.isEmpty ? [JSONMembers()] : members
    case .text: list = [JSONMembers(self)]
    }
    // With a single reference, the members are changed in place.
    storage = .list([])
    defer { storage = .list(list) }
    return body(&list[0])
  }
}

extension JSONObject: Equatable {
  /// Compares without regard to the order of members.
  package static func == (first: JSONObject, second: JSONObject) -> Bool {
    first.count == second.count && first.allSatisfy { second[$0.key] == $0.value }
  }
}

/// The members of an object that was created or changed.
private struct JSONMembers: Sendable {
  private struct Member: Sendable {
    let key: String
    /// The value; nil if the member was removed.
    var value: JSON?
  }

  private var members: [Member] = []
  private var index: [ByteString: Int] = [:]
  private(set) var count = 0
  /// Up to this count, a linear search is faster than building a table.
  ///
  /// Responses and token claims have no more members.
  private static let linearLimit = 24

  init() {}

  init(_ object: JSONObject) {
    members.reserveCapacity(object.count)
    for (key, value) in object { append(key, value) }
  }

  mutating func reserveCapacity(_ count: Int) { members.reserveCapacity(count) }

  func value(of key: String) -> JSON? { position(of: key).flatMap { members[$0].value } }

  mutating func set(_ key: String, _ value: JSON?) {
    switch (position(of: key), value) {
    case (let position?, let value?): members[position].value = value
    case (let position?, nil):
      members[position].value = nil
      index[ByteString(key)] = nil
      count -= 1
    case (nil, let value?): append(key, value)
    case (nil, nil): break
    }
  }

  mutating func take(_ key: String) -> JSON? {
    guard let position = position(of: key), let value = members[position].value else { return nil }
    members[position].value = .null
    return value
  }

  /// Returns the first member at or after a position, and moves the position past it.
  func next(from position: inout Int) -> (key: String, value: JSON)? {
    while position < members.count {
      defer { position += 1 }
      if let value = members[position].value { return (members[position].key, value) }
    }
    return nil
  }

  private func position(of key: String) -> Int? {
    if index.isEmpty {
      // A closure would copy each member.
      for position in members.indices
      where members[position].key.hasSameBytes(as: key) && members[position].value != nil {
        return position
      }
      return nil
    }
    return index[ByteString(key)]
  }

  private mutating func append(_ key: String, _ value: JSON) {
    members.append(Member(key: key, value: value))
    count += 1
    if !index.isEmpty {
      index[ByteString(key)] = members.count - 1
    } else if members.count > Self.linearLimit {
      for (position, member) in members.enumerated() where member.value != nil {
        index[ByteString(member.key)] = position
      }
    }
  }
}
