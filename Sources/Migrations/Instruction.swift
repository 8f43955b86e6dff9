/// One SQL text that a step sends to the server.
package struct Instruction: Equatable, Sendable {
  package enum Role: Equatable, Sendable {
    /// Begin, commit, and updates of the ledger.
    case bookkeeping
    /// A statement of the file.
    case statement
    /// A statement of the file that runs outside a transaction.
    ///
    /// It is `resumed` if an earlier run stopped there. It is `attempted` if that run may have
    /// completed it without recording the result.
    case alone(resumed: Bool, attempted: Bool)
  }

  package let sql: String
  package let role: Role
  package let statement: SQLStatement?

  init(_ sql: String) {
    self.sql = sql
    role = .bookkeeping
    statement = nil
  }

  init(_ statement: SQLStatement, _ role: Role = .statement) {
    sql = statement.text
    self.role = role
    self.statement = statement
  }
}

extension Step {
  /// Returns all instructions of the step, in order.
  package func instructions(_ ledger: Ledger) -> [Instruction] {
    migration.isTransactional ? inTransaction(ledger) : alone(ledger)
  }

  private func inTransaction(_ ledger: Ledger) -> [Instruction] {
    [Instruction("begin")]
      + migration.statements(direction).map { Instruction($0) }
      + [
        Instruction(
          direction == .up ? ledger.insertion(of: migration) : ledger.deletion(of: migration)
        ),
        Instruction("commit"),
      ]
  }

  private func alone(_ ledger: Ledger) -> [Instruction] {
    let statements = migration.statements(direction)
    let first = resumed?.statement ?? 0
    // The new session lacks the settings of the interrupted one.
    var instructions = statements.prefix(first).filter(\.isSetting).map { Instruction($0) }
    if resumed == nil { instructions.append(Instruction(ledger.beginning(of: migration))) }
    for index in first..<statements.count {
      let statement = statements[index]
      let advance = Instruction(
        ledger.advance(
          of: migration,
          to: index + 1,
          checksum: Step.checksum(statements.prefix(index + 1))
        )
      )
      if statement.needsNoTransaction {
        let isResumed = index == resumed?.statement
        instructions += [
          Instruction(ledger.attempt(at: migration)),
          Instruction(
            statement,
            .alone(resumed: isResumed, attempted: isResumed && resumed?.isAttempted == true)
          ),
          advance,
        ]
      } else {
        instructions += [
          Instruction("begin"), Instruction(statement), advance, Instruction("commit"),
        ]
      }
    }
    return instructions + [
      Instruction("begin"),
      Instruction(
        direction == .up ? ledger.slowInsertion(of: migration) : ledger.deletion(of: migration)
      ),
      Instruction(ledger.ending(of: migration)),
      Instruction("commit"),
    ]
  }

  /// Returns a checksum that detects a file edited during an interrupted run.
  package static func checksum(_ statements: ArraySlice<SQLStatement>) -> String {
    Migration.checksum(statements.map { $0.text + ";" }.joined(separator: "\n"))
  }

  /// Returns the text that `plan` prints for the step.
  package func rendered(_ ledger: Ledger) -> String {
    let title =
      "-- \(migration.file): \(direction.rawValue)"
      + (resumed.map { ", from statement \($0.statement + 1)" } ?? "")
    return ([title] + instructions(ledger).map { $0.sql + "\n;" }.map(joiningLastLine))
      .joined(separator: "\n") + "\n"
  }

  /// Puts the semicolon at the end of the line, unless a comment there would swallow it.
  private func joiningLastLine(_ text: String) -> String {
    let last = String(text.dropLast(2)).lines.last ?? ""
    return last.contains("--") ? text : String(text.dropLast(2)) + ";"
  }
}
