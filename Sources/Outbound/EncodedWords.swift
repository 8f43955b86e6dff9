import Notation

/// Text in headers.
///
/// - Source: RFC 2047; RFC 5322 §3.2.4 (quoted strings), §2.1.1 (line lengths).
enum EncodedWords {
  /// A text for an unstructured field: itself when it is short ASCII, else encoded words.
  static func line(_ text: String) -> String {
    isPlain(text) ? text : encode(text)
  }

  /// A text before an address: a quoted string when it is short ASCII, else encoded words.
  static func phrase(_ text: String) -> String {
    guard isPlain(text) else { return encode(text) }
    var quoted = ""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return "\"\(quoted)\""
  }

  /// `=?` would be taken for the start of an encoded word, and folding at outer spaces would lose
  /// them.
  private static func isPlain(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count <= 60 && bytes.allSatisfy { (0x20...0x7e).contains($0) }
      && bytes.first != 0x20 && bytes.last != 0x20 && !text.contains("=?")
  }

  /// Words of at most 64 bytes, one a line, none ending within a character.
  ///
  /// 64, where 75 are allowed: the line of the longest of our names, `Subject: `, may have 76.
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
