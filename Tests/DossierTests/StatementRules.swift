import Distribution
import Postgres

/// The rules for the text of a statement, so that it can run on a database distributed by `user_id`.
///
/// Where Citus breaks a rule without an error, no plan shows it. So this test reads the text.
struct StatementRules {
  /// The tables that are distributed, and views of them, each with its key.
  static let keys = Placement.ofRelations.compactMapValues(\.key)

  private let tokens: [Substring]

  /// Reads SQL; literals and comments do not count.
  init(_ sql: String) { tokens = StatementTokens(sql).tokens }

  /// Returns the rules that the statement breaks, in plain words.
  var broken: Set<String> {
    var broken: Set<String> = []
    var common: Set<Substring>?
    for (index, token) in tokens.enumerated() {
      let next = index + 1 < tokens.count ? tokens[index + 1] : ""
      let last = index > 0 ? tokens[index - 1] : ""
      if Self.keys[String(token)] != nil, isTable(last, next), !isPinned(index) {
        broken.insert("a table whose key is not compared with a parameter")
      } else if Self.keys[String(token)] != nil, isTable(last, next), last != "into" {
        common = common?.intersection(parameters(index)) ?? parameters(index)
        if common == [] { broken.insert("tables whose keys are compared with two parameters") }
      }
      if token == "insert", readsItself(index) {
        broken.insert("an insert that reads its own table and returns columns, without an alias")
      }
      switch (token, next) {
      case ("insert", "into") where index > 0 && (last == "(" || last == ")"):
        broken.insert("an insert in or after a CTE")
      case ("select", _) where next.hasPrefix("$") && tokens[..<index].contains("insert"):
        broken.insert("an insert that selects a parameter as the key")
      case _ where token.hasSuffix("xmax") || token == "pg_current_snapshot":
        broken.insert("a transaction id")
      case ("skip", "locked"): broken.insert("skip locked")
      case ("select", "from"), ("select", "where"): broken.insert("a subquery without a column")
      case ("set", "("): broken.insert("several columns from one subquery")
      case ("on", "conflict") where tokens[index...].contains(where: isClock):
        broken.insert("the clock in on conflict")
      case ("returning", _) where tokens[index...].contains(where: isClock):
        broken.insert("the clock in returning")
      case ("case", _), ("coalesce", "("):
        if updates(before: index), expression(at: index).contains(where: isClock) {
          broken.insert("the clock in an expression of an update")
        }
      default: break
      }
    }
    return broken
  }

  private func isClock(_ token: Substring) -> Bool { ["now", "clock_timestamp"].contains(token) }

  /// Returns whether the closest statement before a place is an update.
  private func updates(before index: Int) -> Bool {
    tokens[..<index].last { ["select", "insert", "update", "delete"].contains($0) } == "update"
  }

  /// Returns a `case` up to its `end`, or a function with its arguments.
  private func expression(at index: Int) -> ArraySlice<Substring> {
    let (opening, closing) = tokens[index] == "case" ? ("case", "end") : ("(", ")")
    var depth = 0
    for end in tokens[index...].indices {
      if tokens[end] == opening { depth += 1 }
      if tokens[end] == closing { depth -= 1 }
      if tokens[end] == closing, depth == 0 { return tokens[index...end] }
    }
    return tokens[index...]
  }

  /// Returns whether an insert reads the table that it names without an alias, and returns columns.
  ///
  /// Citus 12.1 sends a wrong statement to the node then.
  private func readsItself(_ index: Int) -> Bool {
    guard index + 3 < tokens.count, tokens[index + 3] == "(" else { return false }
    let rest = tokens[(index + 3)...]
    return rest.contains("returning")
      && zip(rest, rest.dropFirst()).contains { last, token in
        token == tokens[index + 2] && ["from", "join", "using", ","].contains(last)
      }
  }

  private func isTable(_ last: Substring, _ next: Substring) -> Bool {
    ["from", "join", "update", "into", "using", ","].contains(last) && next != "("
      || last == "into"
  }

  /// Returns whether the table at a place gets its key by `values`, or by a comparison.
  private func isPinned(_ index: Int) -> Bool {
    index > 0 && tokens[index - 1] == "into" || !parameters(index).isEmpty
  }

  /// Returns the parameters with which the key of the table at a place is compared.
  private func parameters(_ index: Int) -> Set<Substring> {
    var alias = index + 1
    if alias < tokens.count, tokens[alias] == "as" { alias += 1 }
    let name = alias < tokens.count ? tokens[alias] : ""
    let key = Self.keys[String(tokens[index])] ?? ""
    let names = ["\(name).\(key)", "\(tokens[index]).\(key)", key]
    let places = tokens.indices.dropLast(2).filter { place in
      names.contains(String(tokens[place])) && tokens[place + 1] == "="
        && tokens[place + 2].hasPrefix("$")
    }
    return Set(places.map { tokens[$0 + 2] })
  }
}
