import Encoding

/// Encoding of text in mail headers.
///
/// - Source: RFC 2047; RFC 5322 §3.2.4 (quoted strings), §2.1.1 (line lengths).
enum EncodedWords {
  /// Returns text for an unstructured field: unchanged if it is short ASCII, else encoded words.
  static func line(_ text: String) -> String {
    isPlain(text) ? text : encode(text)
  }

  /// Returns a display name: a quoted string if it is short ASCII, else encoded words.
  static func phrase(_ text: String) -> String {
    guard isPlain(text) else { return encode(text) }
    var quoted = ""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return "\"\(quoted)\""
  }

  /// Returns whether text needs no encoding.
  ///
  /// `=?` would look like the start of an encoded word, and folding at outer spaces would remove
  /// them.
  private static func isPlain(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count <= 60 && bytes.allSatisfy { (0x20...0x7e).contains($0) }
      && bytes.first != 0x20 && bytes.last != 0x20 && !text.contains("=?")
  }

  /// Returns encoded words of at most 64 bytes, one per line, none of which splits a character.
  ///
  /// The RFC allows 75, but a line may have 76 with the longest field name, `Subject: `.
  private static func encode(_ text: String) -> String {
    var words: [String] = []
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      let next = Array(String(scalar).utf8)
      if bytes.count + next.count > 39 {
        words.append(word(bytes))
        bytes.removeAll(keepingCapacity: true)
      }
      bytes += next
    }
    words.append(word(bytes))
    return words.joined(separator: "\r\n ")
  }

  private static func word(_ bytes: [UInt8]) -> String {
    "=?utf-8?B?\(bytes.paddedBase64)?="
  }
}
