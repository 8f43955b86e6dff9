import EventLoop
import Postgres
import TestSupport
import Testing
import WireKit

/// Tests that a user's request costs the same with many users as with few.
@Suite struct ScanTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `no request of a user scans a table that grows`() async throws {
    let world = try await TestService()
    let watcher = try await Connection.open(.patient(world.conninfo, applicationName: "watcher"))
    defer { watcher.close() }
    let database = try #require(
      try await watcher.query("select quote_ident(current_database())", []).rows[0][0]
    )
    try await watcher.script("begin; \(FullTables.fill(apps: 20)); commit")
    for statistics in ["none", "those of full tables"] {
      for plans in ["auto", "force_generic_plan"] {
        try await watcher.script("alter database \(database) set plan_cache_mode = \(plans)")
        try await reconnect(world, watcher)
        let scanned = try await scanned(world, watcher)
        #expect(scanned == [], "statistics: \(statistics); plans: \(plans); \(scanned)")
      }
      try await watcher.script("analyze")
    }
  }

  /// Runs all scenarios, and returns the scanned tables.
  @EventLoop private func scanned(_ world: TestService, _ watcher: Connection) async throws
    -> [String]
  {
    let before = try await counts(watcher)
    try await runScenarios(world)
    // A connection reports its counts when it ends.
    try await reconnect(world, watcher)
    let after = try await counts(watcher)
    return after.filter { before[$0.key] != $0.value }.keys.sorted()
  }

  @EventLoop private func runScenarios(_ world: TestService) async throws {
    for scenario in Scenario.ofUsers {
      let cast = try await world.cast()
      let route = try #require(TestService.routes.first { $0.name == scenario.route })
      var question = try await scenario.question(cast)
      question.enter(route.access, as: cast)
      let reply = await cast.ask(question)
      #expect(reply.status == scenario.status, "\(scenario.route): \(reply)")
    }
  }

  /// Returns how often each growing table was scanned.
  ///
  /// It omits `mail_outbox`, since the outbox worker reads batches of that table meanwhile.
  @EventLoop private func counts(_ watcher: Connection) async throws -> [String: String] {
    let rows = try await watcher.query(
      "select relname, seq_scan::text from pg_stat_user_tables", []
    )
    .rows
    var counts: [String: String] = [:]
    for row in rows {
      guard let table = row[0], table != "mail_outbox", FullTables.names.contains(table) else {
        continue
      }
      counts[table] = row[1]
    }
    return counts
  }

  /// Ends the connections of the world, and waits for new ones.
  @EventLoop private func reconnect(_ world: TestService, _ watcher: Connection) async throws {
    let others = "datname = current_database() and pid <> pg_backend_pid()"
    let ended = try await watcher.query(
      "select pg_terminate_backend(pid)::text, pid::text from pg_stat_activity where \(others)", []
    ).rows.compactMap { $0[1] }
    let list = ended.isEmpty ? "0" : ended.joined(separator: ", ")
    while try await watcher.query(
      "select 1 from pg_stat_activity where pid in (\(list))", []
    ).rows.count > 0 { await EventLoop.sleep(for: .milliseconds(2)) }
    // The world replaces a connection only after it has noticed the end of the old one.
    while try await watcher.query(
      "select 1 from pg_stat_activity where \(others) and pid not in (\(list))", []
    ).rows.count < ended.count { await EventLoop.sleep(for: .milliseconds(2)) }
    while world.administration.state != .connected {
      await EventLoop.sleep(for: .milliseconds(2))
    }
  }
}
