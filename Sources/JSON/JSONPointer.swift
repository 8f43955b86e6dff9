/// The location of a value in a document.
///
/// - Source: RFC 6901.
package struct JSONPointer: Sendable, CustomStringConvertible {
  package let tokens: [String]

  package init(tokens: [String]) { self.tokens = tokens }

  /// Parses a pointer; nil if it is malformed.
  ///
  /// A pointer is empty or begins with a slash, and a tilde is followed by 0 or 1.
  package init?(_ text: String) {
    guard text.isEmpty || text.utf8.first == UInt8(ascii: "/") else { return nil }
    var tokens: [String] = []
    // Compares bytes: a slash with a combining accent is one Swift character, not a slash.
    let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    for part in parts.dropFirst() {
      guard part.contains(UInt8(ascii: "~")) else {
        tokens.append(String(Substring(part)))
        continue
      }
      var token: [UInt8] = []
      var rest = part
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "~") else {
          token.append(byte)
          continue
        }
        switch rest.popFirst() {
        case UInt8(ascii: "0"): token.append(UInt8(ascii: "~"))
        case UInt8(ascii: "1"): token.append(UInt8(ascii: "/"))
        default: return nil
        }
      }
      tokens.append(String(decoding: token, as: UTF8.self))
    }
    self.tokens = tokens
  }

  package var description: String { tokens.map { "/" + Self.escaped($0) }.joined() }

  /// Returns a key as a token of a pointer.
  package static func escaped(_ key: String) -> String {
    guard key.utf8.contains(where: { $0 == UInt8(ascii: "~") || $0 == UInt8(ascii: "/") }) else {
      return key
    }
    var bytes: [UInt8] = []
    for byte in key.utf8 {
      switch byte {
      case UInt8(ascii: "~"): bytes += "~0".utf8
      case UInt8(ascii: "/"): bytes += "~1".utf8
      default: bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns a pointer, or that of the closest enclosing value if it exceeds this many bytes.
  ///
  /// Clients choose the length of names, and each error inside a value repeats its name.
  package static func shortened(_ pointer: String, _ bytes: Int = 512) -> String {
    guard pointer.utf8.count > bytes else { return pointer }
    let end = pointer.utf8.prefix(bytes + 1).lastIndex(of: UInt8(ascii: "/"))
    return String(Substring(pointer.utf8[..<(end ?? pointer.startIndex)]))
  }

  var parent: JSONPointer { JSONPointer(tokens: tokens.dropLast()) }

  func isProperPrefix(of other: JSONPointer) -> Bool {
    tokens.count < other.tokens.count
      && zip(tokens, other.tokens).allSatisfy { $0.hasSameBytes(as: $1) }
  }
}

extension JSON {
  /// Returns the result of a merge patch, by RFC 7396.
  package func merging(_ patch: JSON) -> JSON {
    guard case .object(let changes) = patch else { return patch }
    return .object((object ?? JSONObject()).merging(changes))
  }
}

extension JSONObject {
  /// Returns the object after a merge patch, by RFC 7396.
  package func merging(_ patch: JSONObject) -> JSONObject {
    var result = self
    for (key, change) in patch {
      result[key] = change == .null ? nil : (result[key] ?? .null).merging(change)
    }
    return result
  }
}
