import Distribution
import Postgres
import Testing

/// Tests what a statement needs of a distributed database.
@Suite struct StatementReachTests {
  @Test func `a statement that obeys the rules needs the node of its key`() {
    for statement in allStatements {
      let name = "\(statement.name)"
      let isExempt =
        StatementRulesTests.listed.contains(name[...])
        || DistributedPlanTests.ofRows.contains(name)
      let tokens = Set(StatementTokens("\(statement.sql)").tokens.map(String.init))
      let placements = tokens.compactMap { Placement.ofRelations[$0] }
      let reach = StatementReach(of: statement.sql)
      if placements.contains(where: { $0.key != nil }) {
        guard !isExempt else { continue }
        #expect(reach.isOfOneNode, "\(name): \(reach)")
      } else if placements.allSatisfy({ $0 == .coordinator }) {
        #expect(reach == .coordinator, "\(name)")
      }
    }
  }

  @Test(
    arguments: [
      (
        "select 1 from users u where u.app_id = $1 and u.user_id = $2",
        .node(parameter: 1, group: "users")
      ),
      ("select 1 from profiles where id = $1", .node(parameter: 0, group: "users")),
      (
        "insert into rate_limits (clear_at, subject) values (least($1, $2), $3) returning 1",
        .node(parameter: 2, group: "rate_limits")
      ),
      ("select user_id from users order by user_id", .allNodes),
      ("select name from apps where app_id = $1", .coordinator),
      ("update apps set name = $2 where app_id = $1", .allNodes),
      ("update hosts set seen_at = now() where host = $1", .coordinator),
      ("commit", .coordinator),
    ] as [(SQL, StatementReach)]
  )
  func `the key is found`(sql: SQL, reach: StatementReach) {
    #expect(StatementReach(of: sql) == reach)
  }
}

extension StatementReach {
  fileprivate var isOfOneNode: Bool { if case .node = self { true } else { false } }
}
