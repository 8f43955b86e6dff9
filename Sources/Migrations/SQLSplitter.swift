/// The place and reason of a syntax error that prevents splitting.
package struct SQLSplitError: Error, Equatable, Sendable {
  package let line: Int
  package let reason: String
}

/// Splits SQL into statements, as psql does.
///
/// Handles all kinds of strings, quoted names, dollar quotes, nested comments, parentheses, and the
/// semicolons in `BEGIN ATOMIC` bodies. Assumes that `standard_conforming_strings` is on.
package struct SQLSplitter {
  private let bytes: [UInt8]
  private var index = 0
  private var line: Int
  private var statements: [SQLStatement] = []
  private var start: (index: Int, line: Int)?
  private var words: [String] = []
  private var parentheses = 0
  private var blocks = 0

  private init(_ text: String, line: Int) {
    bytes = Array(text.utf8)
    self.line = line
  }

  /// Splits a text.
  ///
  /// Empty statements are left out, and the last one needs no semicolon.
  ///
  /// - Parameters:
  ///   - text: the SQL.
  ///   - line: the number of the text's first line.
  /// - Returns: the statements, in order.
  /// - Throws: an error if a quote, comment or parenthesis is not closed.
  package static func split(_ text: String, line: Int = 1) throws(SQLSplitError) -> [SQLStatement] {
    var splitter = SQLSplitter(text, line: line)
    try splitter.run()
    return splitter.statements
  }

  private mutating func run() throws(SQLSplitError) {
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: ";"), parentheses == 0, blocks == 0 {
        finish()
        index += 1
      } else if isSpace(byte) {
        advance()
      } else if has("--") {
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
      } else if has("/*") {
        try skipComment()
      } else {
        if start == nil { start = (index, line) }
        try token(byte)
      }
    }
    guard parentheses == 0, blocks == 0 else {
      throw SQLSplitError(
        line: start?.line ?? line,
        reason: "a statement that does not end: parentheses or BEGIN ATOMIC are left open"
      )
    }
    finish()
  }

  private mutating func token(_ byte: UInt8) throws(SQLSplitError) {
    switch byte {
    case UInt8(ascii: "'"): try skipString(closing: byte, escapes: false)
    case UInt8(ascii: "\""): try skipString(closing: byte, escapes: false)
    case UInt8(ascii: "$"): try skipDollar()
    case UInt8(ascii: "("):
      parentheses += 1
      index += 1
    case UInt8(ascii: ")"):
      parentheses = max(0, parentheses - 1)
      index += 1
    default:
      guard isWord(byte) else { return index += 1 }
      try word()
    }
  }

  private mutating func word() throws(SQLSplitError) {
    let first = index
    while index < bytes.count, isWord(bytes[index]) || bytes[index] == UInt8(ascii: "$") {
      index += 1
    }
    let word = String(decoding: bytes[first..<index], as: UTF8.self).lowercased()
    if word == "e", has("'") {
      return try skipString(closing: UInt8(ascii: "'"), escapes: true)
    }
    guard parentheses == 0 else { return }
    if words.count < 32 { words.append(word) }
    guard isRoutine else { return }
    switch word {
    case "begin": blocks += 1
    case "case": if blocks > 0 { blocks += 1 }
    case "end": blocks = max(0, blocks - 1)
    default: break
    }
  }

  private var isRoutine: Bool {
    let kind = words.starts(with: ["create", "or", "replace"]) ? 3 : 1
    return words.first == "create" && words.count > kind
      && ["function", "procedure"].contains(words[kind])
  }

  private mutating func finish() {
    if let start {
      var end = index
      // Comments before the semicolon stay. Whitespace is removed.
      while end > start.index, isSpace(bytes[end - 1]) { end -= 1 }
      statements.append(
        SQLStatement(
          text: String(decoding: bytes[start.index..<end], as: UTF8.self),
          line: start.line,
          lastLine: line,
          words: words
        )
      )
    }
    start = nil
    words = []
  }

  // MARK: Quotes and comments

  private mutating func skipString(closing: UInt8, escapes: Bool) throws(SQLSplitError) {
    let opened = line
    index += 1
    while index < bytes.count {
      if escapes, bytes[index] == UInt8(ascii: "\\") {
        index += 1
      } else if bytes[index] == closing {
        // A doubled quote reopens the string at once, with the same result.
        index += 1
        guard index < bytes.count, bytes[index] == closing else { return }
      }
      if index < bytes.count { advance() }
    }
    throw SQLSplitError(line: opened, reason: "a quote that is not closed")
  }

  private mutating func skipDollar() throws(SQLSplitError) {
    var end = index + 1
    while end < bytes.count, isWord(bytes[end]) { end += 1 }
    // `$1` is a parameter.
    guard end < bytes.count, bytes[end] == UInt8(ascii: "$"), !isDigit(bytes[index + 1]) else {
      return index += 1
    }
    let tag = bytes[index...end]
    let opened = line
    index = end + 1
    while index + tag.count <= bytes.count {
      if bytes[index..<index + tag.count].elementsEqual(tag) { return index += tag.count }
      advance()
    }
    throw SQLSplitError(line: opened, reason: "a dollar quote that is not closed")
  }

  private mutating func skipComment() throws(SQLSplitError) {
    let opened = line
    var depth = 0
    while index < bytes.count {
      if has("/*") {
        depth += 1
        index += 2
      } else if has("*/") {
        depth -= 1
        index += 2
        if depth == 0 { return }
      } else {
        advance()
      }
    }
    throw SQLSplitError(line: opened, reason: "a comment that is not closed")
  }

  // MARK: Bytes

  private mutating func advance() {
    if bytes[index] == UInt8(ascii: "\n") { line += 1 }
    index += 1
  }

  private func has(_ text: StaticString) -> Bool {
    text.withUTF8Buffer { wanted in
      index + wanted.count <= bytes.count
        && bytes[index..<index + wanted.count].elementsEqual(wanted)
    }
  }

  private func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || (9...13).contains(byte)
  }

  private func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  private func isWord(_ byte: UInt8) -> Bool {
    byte >= 128 || isDigit(byte) || byte == UInt8(ascii: "_")
      || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 32)
  }
}
