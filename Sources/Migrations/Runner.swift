package import EventLoop
import Postgres

/// Carries out plans.
@EventLoop package struct Runner {
  private let session: MigratorSession
  private let migrations: [Migration]
  private let allowsOutOfOrder: Bool

  package init(
    _ session: MigratorSession, _ migrations: [Migration], allowsOutOfOrder: Bool = false
  ) {
    self.session = session
    self.migrations = migrations
    self.allowsOutOfOrder = allowsOutOfOrder
  }

  /// Brings the schema to `goal`.
  ///
  /// - Parameters:
  ///   - goal: the state to reach.
  ///   - lockTimeout: the seconds to wait for other runs.
  ///   - role: receives the privileges that the server needs.
  /// - Returns: the completed steps, and the newest version applied after them.
  /// - Throws: any error of the planner, `.lockTimeout` if another run holds the lock,
  ///   `.statementFailed` if the server rejects a statement, `.connectionLost`.
  package func run(
    to goal: Goal, lockTimeout: Int?, grantTo role: String? = nil
  ) async throws(MigrationError) -> (steps: [Step], version: Int) {
    try await session.lock(timeout: lockTimeout)
    var ledger = try await session.ledger()
    let planner = planner(ledger)
    let steps = try planner.steps(to: goal)
    if !ledger.exists {
      try await session.run((["begin"] + ledger.creation + ["commit"]).joined(separator: ";\n"))
    }
    if goal == .latest, let version = planner.overtakenVersion {
      session.say(
        "the database has migrations newer than version \(version), the newest of this package; "
          + "they stay applied"
      )
    }
    for step in steps {
      session.say("\(step.direction.rawValue) \(step.migration.file)")
      try await carryOut(step, ledger)
      try await session.reset()
    }
    if let role {
      session.say("grants to \(role)")
      try await session.run(
        (["begin"] + Grants.statements(ledger, to: role) + ["commit"]).joined(separator: ";\n"),
        as: "grants to \(role)"
      )
    }
    ledger = try await session.ledger()
    return (steps, ledger.entries.map(\.version).max() ?? 0)
  }

  /// Returns the SQL of a run to `goal`.
  ///
  /// It changes nothing and takes no lock.
  package func plan(
    to goal: Goal, grantTo role: String? = nil
  ) async throws(MigrationError) -> String {
    let ledger = try await session.ledger()
    let steps = try planner(ledger).steps(to: goal)
    var parts: [String] = []
    if !ledger.exists {
      parts.append(
        (["-- the ledger", "begin;"] + ledger.creation.map { $0 + ";" } + ["commit;"])
          .joined(separator: "\n") + "\n"
      )
    }
    for step in steps {
      for instruction in step.instructions(ledger) {
        if case .drop(let index) = try await remedy(instruction) {
          parts.append("-- left incomplete by an earlier run\ndrop index concurrently \(index);\n")
        }
      }
      parts.append(step.rendered(ledger))
    }
    if let role {
      parts.append(
        (["-- grants", "begin"] + Grants.statements(ledger, to: role) + ["commit;"])
          .joined(separator: ";\n").replacing("-- grants;", with: "-- grants")
      )
    }
    return parts.joined(separator: "\n")
  }

  private func planner(_ ledger: Ledger) -> Planner {
    Planner(migrations, ledger, allowsOutOfOrder: allowsOutOfOrder)
  }

  // MARK: One step

  private func carryOut(_ step: Step, _ ledger: Ledger) async throws(MigrationError) {
    let hasCitus = try await session.hasCitus()
    for instruction in step.instructions(ledger) {
      switch try await remedy(instruction) {
      case .none: break
      case .skip: continue
      case .drop(let index):
        session.say("dropping the incomplete index \(index)")
        try await session.run("drop index concurrently \(index)", as: step.migration.file)
      }
      var script = instruction.script
      do throws(DatabaseError) {
        if case .alone = instruction.role {
          // By this protocol, the server rejects a text with several statements.
          try await session.connection.query(instruction.sql)
        } else if hasCitus, let statements = script?.statements {
          for statement in statements {
            script = statement
            try await session.connection.script(statement.text)
          }
        } else {
          try await session.connection.script(instruction.sql)
        }
      } catch {
        // If these fail, the connection is lost and the server rolls back by itself.
        _ = try? await session.connection.script("rollback")
        if case .alone = instruction.role {
          _ = try? await session.connection.script(ledger.ending(of: step.migration))
        }
        throw failure(error, of: instruction, at: script?.line(of: error.position), step)
      }
    }
  }

  private func failure(
    _ error: DatabaseError, of instruction: Instruction, at line: Int?, _ step: Step
  ) -> MigrationError {
    let file = step.migration.file
    if instruction.role == .check, !error.isConnectionLost {
      return .badFile(
        file: file,
        line: nil,
        reason: "it ended the transaction of dossier-migrate; its committed changes stay, and are "
          + "not recorded"
      )
    }
    return MigrationError(
      error,
      file: file,
      line: line,
      rest: step.migration.isTransactional
        ? "nothing of this file was done" : "this file must run again"
    )
  }

  private enum Remedy {
    case none
    /// An earlier run completed the statement but could not record it.
    case skip
    /// Drop the index with this qualified name, whose creation failed or was killed.
    case drop(String)
  }

  /// Returns the action that an earlier attempt at an index requires.
  private func remedy(_ instruction: Instruction) async throws(MigrationError) -> Remedy {
    guard case .alone(let script, let isResumed) = instruction.role else { return .none }
    switch script.concurrentIndex {
    case .create(let name, let table):
      let row = try await session.query(
        """
        select i.indisvalid, format('%I.%I', n.nspname, c.relname)
        from pg_index i join pg_class c on c.oid = i.indexrelid
          join pg_namespace n on n.oid = c.relnamespace
        where i.indrelid = to_regclass($1) and c.relname = (parse_ident($2))[1]
        """,
        [table, name]
      ).rows.first
      guard let row, let index = row[1] else { return .none }
      if row[0] == "f" { return .drop(index) }
      return isResumed ? .skip : .none
    case .drop(let name) where isResumed:
      let found = try await session.query("select to_regclass($1)", [name])
      return found.rows.first?[0] == nil ? .skip : .none
    case .drop, nil: return .none
    }
  }
}
