/// The SQL of a file's up or down part, which the server reads.
package struct SQLScript: Equatable, Sendable {
  package let text: String
  /// The line of the file at which the text begins, from 1.
  package let line: Int

  package init(text: String, line: Int) {
    self.text = text
    self.line = line
  }

  /// Whether there are only empty lines and comments of one line.
  package var isEmpty: Bool { text.lines.allSatisfy(\.isBlankOrComment) }

  /// Returns the line of a character position in a server error.
  ///
  /// - Parameter position: the position in characters, from 1.
  /// - Returns: the number of the line in the file, or nil without a position.
  package func line(of position: Int?) -> Int? {
    guard let position else { return nil }
    return line + text.unicodeScalars.prefix(max(0, position - 1)).count { $0 == "\n" }
  }

  /// The reason why no migration may contain it, or nil.
  package var objection: String? {
    text.contains(#/\bcopy\b[^;]*\b(?:stdin|stdout)\b/#.ignoresCase())
      ? "there is nothing to copy from or to; use insert" : nil
  }

  // MARK: Indexes created or dropped without a transaction

  /// The text from its first statement on.
  private var statement: Substring {
    var rest = text.lines[...]
    while let first = rest.first, first.isBlankOrComment { rest.removeFirst() }
    guard let start = rest.first?.startIndex else { return "" }
    return text[start...].drop(while: \.isWhitespace)
  }

  /// The index that the statement creates or drops concurrently, or nil.
  package var concurrentIndex: ConcurrentIndex? {
    let statement = statement
    let name = #/(?:"(?:[^"]|"")+"|[\w$]+)/#
    let create = #/create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?/#
      .ignoresCase()
    let on = #/\s+on\s+(?:only\s+)?/#.ignoresCase()
    let drop = #/drop\s+index\s+concurrently\s+(?:if\s+exists\s+)?/#.ignoresCase()
    if let start = statement.prefixMatch(of: create)?.range.upperBound,
      let index = statement[start...].prefixMatch(of: name)?.output,
      let table = statement[index.endIndex...].prefixMatch(of: on)?.range.upperBound
    {
      return .create(name: String(index), table: String(qualifiedName(statement[table...])))
    }
    if let start = statement.prefixMatch(of: drop)?.range.upperBound {
      return .drop(name: String(qualifiedName(statement[start...])))
    }
    return nil
  }

  private func qualifiedName(_ text: Substring) -> Substring {
    let pattern = #/(?:"(?:[^"]|"")+"|[\w$]+)(?:\s*\.\s*(?:"(?:[^"]|"")+"|[\w$]+))*/#
    return text.prefixMatch(of: pattern)?.output ?? ""
  }

  /// Whether it creates an index concurrently, with or without a name.
  package var isConcurrentIndexCreation: Bool {
    let create = #/create\s+(?:unique\s+)?index\s+concurrently\b/#.ignoresCase()
    return statement.prefixMatch(of: create) != nil
  }

  /// The creation or removal of an index in a form that a transaction accepts, or nil.
  var rehearsedIndex: String? {
    guard concurrentIndex != nil else { return nil }
    return String(statement)
      .replacing(#/\bconcurrently\b/#.ignoresCase(), with: "", maxReplacements: 1)
  }
}

/// An index created or dropped outside a transaction, by the names in the statement.
package enum ConcurrentIndex: Equatable, Sendable {
  case create(name: String, table: String)
  case drop(name: String)
}

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
