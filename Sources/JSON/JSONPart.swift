/// A part of an array or object, available before it is parsed.
///
/// Each access to a value creates its text again, and decodes an Extended JSON wrapper again.
/// Callers with many accesses can check the cost first.
package struct JSONPart {
  private enum Source {
    case made(JSON)
    case place(JSONText, JSONNode)
  }

  private let source: Source

  fileprivate init(_ value: JSON) { source = .made(value) }

  fileprivate init(_ text: JSONText, _ node: JSONNode) { source = .place(text, node) }

  package var value: JSON {
    switch source {
    case .made(let value): value
    case .place(let text, let node): text.value(node)
    }
  }

  /// The approximate cost of access, in bytes; a wrapper costs some more.
  package var length: Int {
    switch source {
    // Already parsed.
    case .made(.string), .made(.number), .made(.null), .made(.bool), .made(.array): 0
    case .made(.object(let object)):
      if let (text, node) = object.place {
        text.length(of: node)
      } else {
        object.count <= Self.wrapperMembers && object.hasDollarKey ? object.length : 0
      }
    case .place(let text, let node): text.length(of: node)
    }
  }

  /// The largest number of members in a wrapper, and in the objects within it.
  fileprivate static let wrapperMembers = 2
  /// The cost of recognizing a wrapper, in bytes.
  fileprivate static let wrapper = 128
}

extension JSONObject {
  package func part(_ key: String) -> JSONPart? {
    guard let (text, node) = place else { return self[key].map { JSONPart($0) } }
    return text.member(key, of: node).map { JSONPart(text, $0) }
  }

  /// Returns the part at a position and the length of its key.
  ///
  /// Returns nil if the object was created or changed.
  package func part(at position: Int) -> (part: JSONPart, keyLength: Int)? {
    guard let (text, node) = place, position < node.count else { return nil }
    let start = node.start + 2 * position
    return (JSONPart(text, text.nodes[start + 1]), text.nodes[start].count)
  }

  /// The cost for an object that was created or changed, and that may be a wrapper.
  fileprivate var length: Int {
    reduce(JSONPart.wrapper) { length, member in
      let text = member.value.string?.utf8.count ?? member.value.object?.small?.length ?? 0
      return length + member.key.utf8.count + text
    }
  }

  private var small: JSONObject? { count <= JSONPart.wrapperMembers ? self : nil }
}

extension JSONArray {
  package func part(_ index: Int) -> JSONPart {
    guard let (text, node) = place else { return JSONPart(self[index]) }
    precondition(index >= 0 && index < node.count)
    return JSONPart(text, text.nodes[node.start + index])
  }
}

extension JSONText {
  fileprivate func length(of node: JSONNode) -> Int {
    switch node.kind {
    case .string, .number: node.count
    case .object where node.isMarked: JSONPart.wrapper + length(ofMembersOf: node, levels: 3)
    case .null, .false, .true, .array, .object: 0
    }
  }

  private func length(ofMembersOf object: JSONNode, levels: Int) -> Int {
    guard object.count <= JSONPart.wrapperMembers, levels > 0 else { return 0 }
    return (0..<object.count).reduce(0) { length, member in
      let key = nodes[object.start + 2 * member]
      let value = nodes[object.start + 2 * member + 1]
      let part =
        switch value.kind {
        case .string, .number: value.count
        case .object: self.length(ofMembersOf: value, levels: levels - 1)
        case .null, .false, .true, .array: 0
        }
      return length + key.count + part
    }
  }
}
