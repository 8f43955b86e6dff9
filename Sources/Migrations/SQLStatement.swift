/// One statement of a file.
package struct SQLStatement: Equatable, Sendable {
  /// From its first word to before its semicolon.
  package let text: String
  /// Where it begins in the file, from 1.
  package let line: Int
  /// Where its semicolon stands.
  package let lastLine: Int
  /// Its first words outside of parentheses, quotes and comments, in lower case.
  package let words: [String]

  /// The line of a character that the server points at.
  ///
  /// - Parameter position: in characters from 1.
  /// - Returns: the number of the line in the file.
  package func line(of position: Int?) -> Int {
    guard let position else { return line }
    return line + text.unicodeScalars.prefix(max(0, position - 1)).count { $0 == "\n" }
  }

  /// Why it may not stand in a migration, if it may not.
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

  /// Whether the server refuses it in a transaction, or it may end transactions of its own.
  ///
  /// Such a statement and the note of its success are two transactions, so that after a kill in
  /// between it runs again; all others run once.
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

  /// What it makes or drops, if it works on an index concurrently.
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

  /// Whether it makes an index concurrently, under a name of its own or not.
  package var isConcurrentIndexCreation: Bool {
    let start = words.prefix(4).filter { $0 != "unique" }
    return start.starts(with: ["create", "index", "concurrently"])
  }
}

/// An index that is made or dropped without a transaction, by names as the statement has them.
package enum ConcurrentIndex: Equatable, Sendable {
  case create(name: String, table: String)
  case drop(name: String)
}
