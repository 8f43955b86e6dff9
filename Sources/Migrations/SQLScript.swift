/// One statement of a file.
package struct SQLStatement: Equatable, Sendable {
  /// The text from its first word up to its semicolon, without it.
  package let text: String
  /// The line of its first word in the file, from 1.
  package let line: Int
  /// The line of its semicolon.
  package let lastLine: Int
  /// Its first words outside of parentheses, quotes and comments, in lower case.
  package let words: [String]

  /// Returns the line of a character position in a server error.
  ///
  /// - Parameter position: the position in characters, from 1.
  /// - Returns: the number of the line in the file.
  package func line(of position: Int?) -> Int {
    guard let position else { return line }
    return line + text.unicodeScalars.prefix(max(0, position - 1)).count { $0 == "\n" }
  }

  /// The reason why a migration must not contain the statement, or nil.
  package var objection: String? {
    switch words.first {
    case "begin", "commit", "end", "abort", "start":
      "transactions are begun and ended by dossier-migrate"
    case "rollback" where !words.contains("to"):
      "transactions are begun and ended by dossier-migrate"
    case "prepare" where words.dropFirst().first == "transaction":
      "transactions are begun and ended by dossier-migrate"
    case "discard": "it would release the lock that keeps other runs out"
    case "copy" where words.contains("stdin") || words.contains("stdout"):
      "there is nothing to copy from or to; use insert"
    default: nil
    }
  }

  /// Whether the server rejects the statement in a transaction, or it may end transactions itself.
  ///
  /// The statement and the record of its success are two transactions. If the process is killed
  /// between them, the statement runs again. All other statements run once.
  package var needsNoTransaction: Bool {
    if words.contains("concurrently") { return true }
    switch words.first {
    case "vacuum", "reindex", "cluster", "do", "call", "checkpoint": return true
    case "create", "drop", "alter":
      return ["database", "tablespace", "system", "subscription"].contains(
        words.dropFirst().first ?? ""
      )
    default: return false
    }
  }

  /// Whether later statements of the session may depend on it.
  package var isSetting: Bool { words.first == "set" || words.first == "reset" }

  /// The index that it creates or drops concurrently, or nil.
  package var concurrentIndex: ConcurrentIndex? {
    let name = #/(?:"(?:[^"]|"")+"|[\w$]+)/#
    let create = #/create\s+(?:unique\s+)?index\s+concurrently\s+(?:if\s+not\s+exists\s+)?/#
      .ignoresCase()
    let on = #/\s+on\s+(?:only\s+)?/#.ignoresCase()
    let drop = #/drop\s+index\s+concurrently\s+(?:if\s+exists\s+)?/#.ignoresCase()
    if let start = text.prefixMatch(of: create)?.range.upperBound,
      let index = text[start...].prefixMatch(of: name)?.output,
      let table = text[index.endIndex...].prefixMatch(of: on)?.range.upperBound
    {
      return .create(name: String(index), table: String(qualifiedName(text[table...])))
    }
    if let start = text.prefixMatch(of: drop)?.range.upperBound {
      return .drop(name: String(qualifiedName(text[start...])))
    }
    return nil
  }

  private func qualifiedName(_ text: Substring) -> Substring {
    let pattern = #/(?:"(?:[^"]|"")+"|[\w$]+)(?:\s*\.\s*(?:"(?:[^"]|"")+"|[\w$]+))*/#
    return text.prefixMatch(of: pattern)?.output ?? ""
  }

  /// Whether it creates an index concurrently, with or without a name.
  package var isConcurrentIndexCreation: Bool {
    let start = words.prefix(4).filter { $0 != "unique" }
    return start.starts(with: ["create", "index", "concurrently"])
  }
}

/// An index created or dropped outside a transaction, by the names in the statement.
package enum ConcurrentIndex: Equatable, Sendable {
  case create(name: String, table: String)
  case drop(name: String)
}
