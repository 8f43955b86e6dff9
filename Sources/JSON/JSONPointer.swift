/// The place of a value in a document.
///
/// - Source: RFC 6901.
package struct JSONPointer: Equatable, Sendable, CustomStringConvertible {
  package let tokens: [String]

  package init(tokens: [String]) { self.tokens = tokens }

  /// Reads a pointer; nil when it neither is empty nor begins with a slash, or has a tilde without
  /// 0 or 1 behind it.
  package init?(_ text: String) {
    guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { return nil }
    var tokens: [String] = []
    for part in text.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      var token = ""
      var rest = part[...]
      while let character = rest.popFirst() {
        guard character == "~" else {
          token.append(character)
          continue
        }
        switch rest.popFirst() {
        case "0": token.append("~")
        case "1": token.append("/")
        default: return nil
        }
      }
      tokens.append(token)
    }
    self.tokens = tokens
  }

  package var description: String { tokens.map { "/" + Self.escaped($0) }.joined() }

  /// A key as a token of a pointer.
  package static func escaped(_ key: String) -> String {
    guard key.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
      return key
    }
    return key.reduce(into: "") { text, character in
      switch character {
      case "~": text += "~0"
      case "/": text += "~1"
      default: text.append(character)
      }
    }
  }

  var parent: JSONPointer { JSONPointer(tokens: tokens.dropLast()) }

  func isProperPrefix(of other: JSONPointer) -> Bool {
    tokens.count < other.tokens.count && other.tokens.starts(with: tokens)
  }
}

extension JSON {
  /// RFC 7396: what this becomes by a merge patch.
  package func merging(_ patch: JSON) -> JSON {
    guard case .object(let changes) = patch else { return patch }
    var result = object ?? JSONObject()
    for (key, change) in changes {
      result[key] = change == .null ? nil : (result[key] ?? .null).merging(change)
    }
    return .object(result)
  }
}
