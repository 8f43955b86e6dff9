package import JSON

/// The place of a claim: its name, or the dotted path to a member of it.
///
/// In a path, `\.` is a dot of a name, as at App Services.
package struct ClaimPath: Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// Returns the claim; a claim whose name is the whole text goes before a path.
  package func value(in claims: JSONObject) -> JSON? {
    if let claim = claims[text] { return claim }
    let keys = keys
    return keys.dropFirst().reduce(claims[keys[0]]) { $0?[$1] }
  }

  private var keys: [String] {
    var keys: [[UInt8]] = [[]]
    for byte in text.utf8 {
      let isEscaped = keys[keys.count - 1].last == UInt8(ascii: "\\")
      switch byte {
      case UInt8(ascii: ".") where isEscaped:
        keys[keys.count - 1].removeLast()
        keys[keys.count - 1].append(byte)
      case UInt8(ascii: "."): keys.append([])
      default: keys[keys.count - 1].append(byte)
      }
    }
    return keys.map { String(decoding: $0, as: UTF8.self) }
  }
}

extension ClaimPath: ExpressibleByStringLiteral {
  package init(stringLiteral value: String) { self.init(value) }
}
