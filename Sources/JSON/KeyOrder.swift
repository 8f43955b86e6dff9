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
