extension SQLScript {
  /// The statements, each with its line.
  ///
  /// Citus sends the text of some statements on to the nodes. So it refuses them in a text with
  /// several statements.
  package var statements: [SQLScript] {
    var scan = StatementScan(text)
    var statements: [SQLScript] = []
    var line = line
    while let statement = scan.next() {
      if statement.hasWords { statements.append(SQLScript(text: statement.text, line: line)) }
      line += statement.text.utf8.count { $0 == UInt8(ascii: "\n") }
    }
    return statements
  }
}

/// Divides SQL at the semicolons that end statements, as psql does.
private struct StatementScan {
  private let bytes: [UInt8]
  private var place = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  /// Returns the next statement with its semicolon and the comments before it, or nil at the end.
  mutating func next() -> (text: String, hasWords: Bool)? {
    guard place < bytes.count else { return nil }
    let start = place
    var hasWords = false
    var parentheses = 0
    // Depth in the body of a function that begins with `begin atomic`.
    var bodies = 0
    var lastWord = ""
    while place < bytes.count {
      if skipComment() { continue }
      let byte = bytes[place]
      switch byte {
      case _ where isWord(byte):
        let word = word()
        if lastWord == "begin", word == "atomic" { bodies += 1 }
        if bodies > 0, word == "case" { bodies += 1 }
        if bodies > 0, word == "end" { bodies -= 1 }
        let isEscaped = word == "e" && place < bytes.count && bytes[place] == UInt8(ascii: "'")
        if isEscaped { skipQuoted(escapes: true) }
        lastWord = word
        hasWords = true
        continue
      case UInt8(ascii: "'"), UInt8(ascii: "\""):
        skipQuoted(escapes: false)
        continue
      case UInt8(ascii: "$"):
        skipDollars()
        continue
      case UInt8(ascii: "("): parentheses += 1
      case UInt8(ascii: ")"): parentheses -= 1
      case UInt8(ascii: ";") where parentheses <= 0 && bodies == 0:
        place += 1
        return (String(decoding: bytes[start..<place], as: UTF8.self), hasWords)
      default: break
      }
      place += 1
    }
    return (String(decoding: bytes[start...], as: UTF8.self), hasWords)
  }

  private func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  private func starts(with text: StaticString) -> Bool {
    bytes[place...].starts(with: "\(text)".utf8)
  }

  private mutating func word() -> String {
    let start = place
    // A word may contain dollar signs, but not begin with one.
    while place < bytes.count, isWord(bytes[place]) || bytes[place] == UInt8(ascii: "$") {
      place += 1
    }
    return String(decoding: bytes[start..<place], as: UTF8.self).lowercased()
  }

  private mutating func skipComment() -> Bool {
    if starts(with: "--") {
      place = bytes[place...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      return true
    }
    guard starts(with: "/*") else { return false }
    var depth = 0
    repeat {
      if starts(with: "/*") {
        (depth, place) = (depth + 1, place + 2)
      } else if starts(with: "*/") {
        (depth, place) = (depth - 1, place + 2)
      } else {
        place += 1
      }
    } while depth > 0 && place < bytes.count
    return true
  }

  /// Skips a string or a quoted name; a doubled quote ends one and begins another.
  private mutating func skipQuoted(escapes: Bool) {
    let quote = bytes[place]
    place += 1
    while place < bytes.count, bytes[place] != quote {
      place += escapes && bytes[place] == UInt8(ascii: "\\") ? 2 : 1
    }
    place = min(place + 1, bytes.count)
  }

  /// Skips a string between dollar signs, or a single dollar sign.
  private mutating func skipDollars() {
    var end = place + 1
    while end < bytes.count, isWord(bytes[end]) { end += 1 }
    guard end < bytes.count, bytes[end] == UInt8(ascii: "$") else {
      place += 1
      return
    }
    let mark = bytes[place...end]
    place = end + 1
    while place < bytes.count, !bytes[place...].starts(with: mark) { place += 1 }
    place = min(place + mark.count, bytes.count)
  }
}
