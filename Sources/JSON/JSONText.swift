/// A parsed text with the position of each value, but without the values.
///
/// Each value takes eight bytes here. Strings, numbers and containers are created on access, so a
/// large text needs little more memory than its bytes.
final class JSONText: Sendable {
  /// The text itself.
  let bytes: [UInt8]
  /// Strings with escapes resolved, and zeros without absurd exponents, as they are stored.
  let rewritten: [UInt8]
  /// The parts of each array and object, contiguous; see `JSONNode`.
  let nodes: [JSONNode]

  init(bytes: [UInt8], rewritten: [UInt8], nodes: [JSONNode]) {
    self.bytes = bytes
    self.rewritten = rewritten
    self.nodes = nodes
  }

  /// Returns the value of a node; an array or object only refers to its parts.
  func value(_ node: JSONNode) -> JSON {
    switch node.kind {
    case .null: .null
    case .false: .bool(false)
    case .true: .bool(true)
    case .number: .number(JSONNumber(string(node)))
    case .string: .string(string(node))
    case .array: .array(JSONArray(self, node))
    case .object: .object(JSONObject(self, node))
    }
  }

  /// Returns the bytes of a string, a key or a number.
  func slice(_ node: JSONNode) -> ArraySlice<UInt8> {
    let range = node.start..<node.start + node.count
    return node.isMarked ? rewritten[range] : bytes[range]
  }

  func string(_ node: JSONNode) -> String { String(decoding: slice(node), as: UTF8.self) }

  private func isText(of node: JSONNode, _ text: String) -> Bool {
    slice(node).withUnsafeBufferPointer { text.utf8.hasSameBytes(as: $0) }
  }

  // MARK: Members

  /// The count of members up to which a linear search is faster than a binary search.
  static let linearLimit = 8

  /// Returns the value of a member.
  func member(_ key: String, of object: JSONNode) -> JSONNode? {
    let count = key.utf8.count
    if object.count <= Self.linearLimit {
      for member in 0..<object.count {
        let node = nodes[object.start + 2 * member]
        if node.count == count, isText(of: node, key) {
          return nodes[object.start + 2 * member + 1]
        }
      }
      return nil
    }
    var candidates = 0..<object.count
    while !candidates.isEmpty {
      let middle = (candidates.lowerBound + candidates.upperBound) / 2
      let member = ranked(middle, in: object)
      let node = nodes[object.start + 2 * member]
      if node.count == count, isText(of: node, key) {
        return nodes[object.start + 2 * member + 1]
      }
      let isBefore =
        node.count == count
        ? slice(node).lexicographicallyPrecedes(key.utf8) : node.count < count
      candidates = isBefore ? middle + 1..<candidates.upperBound : candidates.lowerBound..<middle
    }
    return nil
  }

  /// Returns the member at a position of `jsonb`'s order: shorter keys first, then by bytes.
  ///
  /// Objects of more than `linearLimit` members store these positions after their members, two per
  /// node.
  func ranked(_ place: Int, in object: JSONNode) -> Int {
    let pair = nodes[object.start + 2 * object.count + place / 2]
    return place.isMultiple(of: 2) ? pair.start : pair.count
  }
}

/// One value of a `JSONText`, or a key.
///
/// It has three bits for the kind, one mark, and two numbers of 30 bits: a start and a count. For a
/// string, key or number, these are its bytes in the text. For an array, they are the nodes of its
/// elements. For an object, they are its members, each a key and a value.
struct JSONNode: Sendable {
  enum Kind: UInt8 {
    case null, `false`, `true`, number, string, array, object
  }

  private let bits: UInt64

  /// The length limit of a text, so that its positions fit a node.
  static let longestText = 1 << 30 - 1

  init(_ kind: Kind, start: Int = 0, count: Int = 0, isMarked: Bool = false) {
    bits =
      UInt64(kind.rawValue) << 61 | (isMarked ? 1 << 60 : 0) | UInt64(start) << 30 | UInt64(count)
  }

  var kind: Kind { Kind(rawValue: UInt8(bits >> 61)) ?? .null }
  /// Whether a text is in `rewritten`, or a key of an object begins with a dollar.
  var isMarked: Bool { bits & 1 << 60 != 0 }
  var start: Int { Int(bits >> 30 & 0x3fff_ffff) }
  var count: Int { Int(bits & 0x3fff_ffff) }
}
