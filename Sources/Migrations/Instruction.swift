/// One SQL text that a step sends to the server.
package struct Instruction: Equatable, Sendable {
  package enum Role: Equatable, Sendable {
    /// Begin, commit, and updates of the ledger.
    case bookkeeping
    /// Fails if the file has ended its transaction.
    case check
    /// A part of the file.
    case script(SQLScript)
    /// A part of the file with one statement, which runs outside a transaction.
    ///
    /// It is `resumed` if an earlier run may have completed it without recording the result.
    case alone(SQLScript, resumed: Bool)
  }

  package let sql: String
  package let role: Role

  init(_ sql: String, _ role: Role = .bookkeeping) {
    self.sql = sql
    self.role = role
  }

  package var script: SQLScript? {
    switch role {
    case .bookkeeping, .check: nil
    case .script(let script), .alone(let script, _): script
    }
  }
}

extension Step {
  /// Returns all instructions of the step, in order.
  package func instructions(_ ledger: Ledger) -> [Instruction] {
    migration.isTransactional ? inTransaction(ledger) : alone(ledger)
  }

  private func inTransaction(_ ledger: Ledger) -> [Instruction] {
    let script = migration.script(direction)
    return [
      Instruction("begin"),
      // The server forgets the savepoint at a commit or rollback in the file.
      Instruction("savepoint dossier_file"),
      Instruction(script.text, .script(script)),
      Instruction("release savepoint dossier_file", .check),
      Instruction(
        direction == .up ? ledger.insertion(of: migration) : ledger.deletion(of: migration)
      ),
      Instruction("commit"),
    ]
  }

  private func alone(_ ledger: Ledger) -> [Instruction] {
    let script = migration.script(direction)
    let statement =
      script.isEmpty
      ? [] : [Instruction(script.text, .alone(script, resumed: isResumed))]
    return (isResumed ? [] : [Instruction(ledger.beginning(of: migration))]) + statement + [
      Instruction("begin"),
      Instruction(
        direction == .up ? ledger.slowInsertion(of: migration) : ledger.deletion(of: migration)
      ),
      Instruction(ledger.ending(of: migration)),
      Instruction("commit"),
    ]
  }

  /// Returns the text that `plan` prints for the step.
  package func rendered(_ ledger: Ledger) -> String {
    let title =
      "-- \(migration.file): \(direction.rawValue)" + (isResumed ? ", interrupted before" : "")
    return ([title] + instructions(ledger).map { terminated($0.sql) }).joined(separator: "\n")
      + "\n"
  }

  /// Returns the SQL with a semicolon at its end.
  ///
  /// The semicolon has its own line if the last line could be a comment.
  private func terminated(_ text: String) -> String {
    let last = text.lines.last { !$0.allSatisfy(\.isWhitespace) } ?? ""
    var trimmed = text[...]
    while trimmed.last?.isWhitespace == true { trimmed.removeLast() }
    if last.contains("--") { return trimmed + "\n;" }
    return trimmed.hasSuffix(";") ? String(trimmed) : trimmed + ";"
  }
}
