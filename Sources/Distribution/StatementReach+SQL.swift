package import Postgres

/// The words and signs of a statement, in lower case.
///
/// Comments are left out, and of literals only the quotes remain.
package struct StatementTokens {
  package let tokens: [Substring]

  package init(_ sql: String) {
    var tokens: [Substring] = []
    var rest = sql.lowercased()[...]
    while let first = rest.first {
      if first == "'" {
        rest = rest.dropFirst().drop { $0 != "'" }.dropFirst()
        tokens.append("''")
      } else if rest.hasPrefix("--") {
        rest = rest.drop { !$0.isNewline }
      } else if Self.isOfWord(first) {
        let word = rest.prefix(while: Self.isOfWord)
        tokens.append(word)
        rest = rest[word.endIndex...]
      } else {
        if !first.isWhitespace { tokens.append(rest.prefix(1)) }
        rest = rest.dropFirst()
      }
    }
    self.tokens = tokens
  }

  private static func isOfWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || ["_", ".", "$"].contains(character)
  }
}

extension StatementReach {
  /// Finds what a statement of ours needs on a distributed database.
  ///
  /// By the rules for statements, all tables of a statement have one key, which is compared with one
  /// parameter or inserted. A statement that is an exception to the rules needs all nodes.
  package init(of sql: SQL) {
    let tokens = StatementTokens("\(sql)").tokens
    let tables = tokens.enumerated().compactMap { index, token in
      Placement.ofRelations[String(token)].map { (index, $0) }
    }
    if let (index, placement) = tables.first(where: { $0.1.key != nil }) {
      self = Self.place(of: placement, at: index, in: tokens)
    } else {
      let writes = tokens.contains { ["insert", "update", "delete"].contains($0) }
      let isEverywhere = tables.contains { $0.1 == .everywhere }
      self = writes && isEverywhere ? .allNodes : .coordinator
    }
  }

  private static func place(
    of placement: Placement, at table: Int, in tokens: [Substring]
  ) -> StatementReach {
    guard case .sharded(let key, let group) = placement else { return .coordinator }
    guard let parameter = comparedParameter(key, tokens) ?? insertedParameter(key, table, tokens)
    else { return .allNodes }
    return .node(parameter: parameter, group: group)
  }

  /// Returns the index of the parameter with which a key is compared; or nil.
  private static func comparedParameter(_ key: String, _ tokens: [Substring]) -> Int? {
    for place in tokens.indices.dropLast(2) where tokens[place + 1] == "=" {
      guard tokens[place].split(separator: ".").last.map(String.init) == key else { continue }
      if let parameter = parameter(tokens[place + 2]) { return parameter }
    }
    return nil
  }

  /// Returns the index of the parameter that an insert stores as the key; or nil.
  private static func insertedParameter(
    _ key: String, _ table: Int, _ tokens: [Substring]
  ) -> Int? {
    guard let open = tokens[table...].firstIndex(of: "("),
      let close = tokens[open...].firstIndex(of: ")"),
      let values = tokens[close...].firstIndex(of: "values"),
      let position = tokens[open..<close].filter({ $0 != "(" && $0 != "," })
        .firstIndex(of: Substring(key))
    else { return nil }
    var (depth, index) = (0, 0)
    for token in tokens[(values + 1)...] {
      switch token {
      case "(": depth += 1
      case ")": depth -= 1
      case "," where depth == 1: index += 1
      default: if depth == 1, index == position { return parameter(token) }
      }
      if depth == 0 { break }
    }
    return nil
  }

  private static func parameter(_ token: Substring) -> Int? {
    guard token.hasPrefix("$"), let number = Int(token.dropFirst()), number > 0 else { return nil }
    return number - 1
  }
}
