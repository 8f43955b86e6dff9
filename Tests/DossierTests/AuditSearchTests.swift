import EventLoop
import JSON
import Outbound
@testable import Postgres
@testable import Runtime
import TestSupport
import Testing

/// Tests that searches of the audit log read the events of an index, and few others.
@Suite struct AuditSearchTests {
  init() { LoopThread.start() }

  /// Of an app with 20,000 events, of which some are rare.
  private static let app = AppID(trusted: String(repeating: "a", count: 24))
  private static let user = String(repeating: "b", count: 24)

  @Test(
    arguments: [
      ("login", ActionPattern.one("login")), ("user_*", .beginning("user_")), ("*", .beginning("")),
      ("Login", nil), ("lo*gin", nil), ("", nil), ("login**", nil), ("a'b", nil),
      (String(repeating: "a", count: 65), nil),
    ] as [(String, ActionPattern?)])
  func `an action may end with a star`(text: String, pattern: ActionPattern?) {
    #expect(ActionPattern(text) == pattern)
  }

  @Test(arguments: [
    ("10.1.2.3/8", "10.1.2.3/8"), ("198.51.100.7", "198.51.100.7/32"),
    ("2001:db8::1/48", "2001:db8::1/48"), ("::ffff:192.0.2.1", "192.0.2.1/32"),
  ])
  func `a network is printed as it was read`(text: String, printed: String) {
    #expect(IPNetwork(text).map { "\($0)" } == printed)
  }

  @Test(arguments: [AuditOrder.newest, .oldest])
  func `a search reads only the events of its index`(order: AuditOrder) async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    #expect(try await plans(database, order) == [])
  }

  @EventLoop private func plans(_ database: String, _ order: AuditOrder) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    try await connection.script(
      """
      insert into apps (app_id, name) values ('\(Self.app)', 'many');
      insert into audit (user_id, event_id, app_id, action, actor)
      select case when g % 1000 = 0 then '\(Self.user)' else lpad(to_hex(g), 24, '0') end,
        lpad(to_hex(1700000000 + g), 8, '0') || lpad(to_hex(g), 16, '0'), '\(Self.app)',
        case when g % 1000 = 1 then 'rare' else 'login' end,
        case when g % 1000 = 2 then 'operator' else 'user' end
      from generate_series(1, 20000) g;
      analyze
      """)
    var found: [String] = []
    for (place, index) in [
      (AuditPlace(app: Self.app), "audit_by_app"),
      (AuditPlace(app: Self.app, action: "rare"), "audit_by_action"),
      (AuditPlace(app: Self.app, actor: "operator"), "audit_by_other_actor"),
      (AuditPlace(subject: Self.user), "audit_pkey"),
    ] {
      let composer = AuditComposer(AuditFilter(), [place, place], order, after: nil)
      let page = composer.page(of: 10)
      let rows = try await PendingQuery(page).run(on: connection).decode(AuditEntry.self)
      let ids = rows.map(\.id.text)
      let sorted = order == .newest ? ids.sorted(by: >) : ids.sorted()
      if rows.count != 10 || ids != sorted { found.append("\(index): \(ids)") }
      let explained = try await connection.query("explain \(page.sql)", values(of: page)).rows
      let plan = explained.compactMap { $0[0] }.joined(separator: "\n")
      if !plan.contains(index) || plan.contains("Seq Scan on audit") { found.append(plan) }
    }
    return found
  }

  private func values<Row>(of statement: ComposedStatement<Row>) -> [String?] {
    (0..<statement.sql.matches(of: /\$\d+/).count).map { place in
      statement.parameters.value(at: place, isBinary: false).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }
}
