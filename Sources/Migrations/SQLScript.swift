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
