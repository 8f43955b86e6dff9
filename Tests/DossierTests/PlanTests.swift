import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests that statements find their rows by keys, for any statistics of the tables.
@Suite struct PlanTests {
  init() { LoopThread.start() }

  /// Statements that no user's request runs.
  ///
  /// They process batches, all rows of an app, or all queued mails.
  private static let exceptions = [
    "apps.delete", "connections.dependents", "passkey_domain.",
    "maintenance.", "imports.", "outbox.expired", "outbox.failed", "outbox.ids",
    "outbox.newest", "outbox.state",
    "readiness.late_mails", "reencryption.", "sessions.end_all", "unused.",
    "webhooks.remove_",
  ]

  @Test(arguments: [false, true])
  func `no statement scans a growing table`(isAnalyzed: Bool) async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let found = try await scans(database, isAnalyzed: isAnalyzed)
    #expect(found == [])
  }

  /// Explains the generic plan of each prepared statement.
  @EventLoop private func scans(_ database: String, isAnalyzed: Bool) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    try await connection.script("begin; \(FullTables.fill(apps: 1)); commit")
    if isAnalyzed { try await connection.script("analyze") }
    try await connection.script("set plan_cache_mode = force_generic_plan")
    var found: [String] = []
    for statement in allStatements {
      let name = "\(statement.name)"
      if Self.exceptions.contains(where: name.hasPrefix) { continue }
      try await connection.script("prepare \"\(name)\" as \(statement.sql)")
      let count = try await connection.query(
        "select cardinality(parameter_types)::text from pg_prepared_statements where name = $1",
        [name]
      ).rows[0][0].flatMap { Int($0) }
      let values = Array(repeating: "null", count: try #require(count)).joined(separator: ", ")
      let call = "\"\(name)\"" + (values.isEmpty ? "" : "(\(values))")
      let plan = try await connection.query("explain (costs off) execute \(call)", []).rows
      for line in plan.compactMap({ $0[0] }) where line.contains("Seq Scan on ") {
        let words = line.split(separator: " ")
        guard let place = words.firstIndex(of: "on"), place + 1 < words.count else { continue }
        let table = String(words[place + 1])
        if FullTables.names.contains(table) { found.append("\(name): \(table)") }
      }
    }
    return found
  }
}
