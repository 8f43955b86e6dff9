@testable import Documents
import EventLoop
import JSON
@testable import Postgres
import Runtime
import TestSupport
import Testing

/// Tests that searches read the users that an index finds, and no others.
///
/// It counts rows, so it holds on any machine.
@Suite struct SearchPlanTests {
  init() { LoopThread.start() }

  private static let users = 20_000
  /// As few in proportion as of a million users: the planner compares costs.
  private static let candidates = FilterLimits.candidates * users / 1_000_000
  /// The rows that a search of a few users may read, with the lookups of its terms.
  private static let most = 400

  /// Filters that match at most 40 users, with one of all.
  private static let filters = [
    #"email ^= "user1777""#, #"email = "user17777@all.example""#, #"name ^= "name 1777""#,
    #"name > "name 9998" and name < "name 9999""#, #"phone >= "+19995" and phone ^= "+1999""#,
    #"nickname exists"#, #"email_domain ^= "few""#, #"created_at > "2026-01-01T05:33:00Z""#,
    #"given_name in ("given 7", "given 8")"#, #"names = "17777""#, #"names ^= "1777 na""#,
    #"names ^= "1777" or phone ^= "+1777""#, #"id ^= "000000000000000000004e1""#,
    #"metadata.number > 19990"#, #"metadata.text ^= "text 1777""#, "metadata.boolean exists",
    #"email ^= "user1777" or metadata.number < 5"#,
    #"email ^= "user1777" and blocked = false and family_name exists"#,
  ]

  private static let provider = FilterTerm(
    subject: .provider, test: .isOneOf([.text("jwt:https://few.example")])
  )

  @Test func `a search reads only its candidates`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let found = try await tooMany(database)
    #expect(found == [])
  }

  @EventLoop private func tooMany(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    let (app, indexes) = try await Self.fill(connection)
    var found: [String] = []
    func note<Row>(_ filter: Filter, _ statement: ComposedStatement<Row>) async throws {
      let rows = try await Self.rowsRead(by: statement, on: connection)
      if rows > Self.most { found.append("\(filter): \(rows)") }
    }
    for filter in try Self.filters.map({ try Filter.parse($0) }) + [.term(Self.provider)] {
      let search = FilterComposer(filter, of: app, after: nil, indexes: indexes)
      #expect(search.isCovered, "\(filter)")
      try await note(filter, search.count(upTo: Self.candidates))
      // The planner would walk the users for a page of one, if it guesses that many match.
      try await note(filter, search.page(of: 1, candidates: Self.candidates))
    }
    // A value of the last users, of whom there are too many to look up by their ids.
    let filter = try Filter.parse(#"email_domain = "last.example""#)
    let search = FilterComposer(filter, of: app, after: nil, indexes: indexes)
    try await note(filter, search.page(of: 100, candidates: nil))
    // A word of the last users, whose number is that of the rows that the index finds.
    let words = try Filter.parse(#"names = "late" or email ^= "late""#)
    let named = FilterComposer(words, of: app, after: nil, indexes: indexes)
    let rows = try await Self.rowsRead(by: named.page(of: 100, candidates: nil), on: connection)
    if rows > 3 * Self.users / 10 { found.append("names: \(rows)") }
    return found
  }

  @Test func `a page in any order reads only its users`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    #expect(try await wrongPages(database) == [])
  }

  /// Reads two pages in each order, and returns the orders that read more rows or other users.
  @EventLoop private func wrongPages(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    let (app, _) = try await Self.fill(connection)
    var found: [String] = []
    for sort in UserSort.allCases {
      var positions: [UserPosition] = []
      for _ in 1...2 {
        let search = FilterComposer(nil, of: app, by: sort, after: positions.last, indexes: [])
        let page = search.page(of: 100, candidates: nil)
        let rows = try await Self.rowsRead(by: page, on: connection)
        if rows > 100 { found.append("\(sort): \(rows) rows") }
        let users = try await PendingQuery(page).run(on: connection).decode(ListedUser.self)
        positions += users.map(\.cursor)
      }
      let column = sort.rawValue.drop { $0 == "-" }
      let key = column == "created_at" ? "created_at" : "\(column)_key(\(column)) collate \"C\""
      let direction = sort.rawValue.hasPrefix("-") ? "desc" : ""
      let expected = try await connection.query(
        """
        select user_id from users where \(column) is not null
        order by \(key) \(direction), user_id \(direction) limit 200
        """
      ).rows.compactMap { $0[0] }
      if positions.map(\.user.text) != expected { found.append("\(sort): other users") }
    }
    return found
  }

  @Test func `the number of users is estimated without reading them`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let found = try await estimate(database)
    #expect((Self.users * 9 / 10...Self.users * 11 / 10).contains(found))
  }

  @EventLoop private func estimate(_ database: String) async throws -> Int {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    let (app, _) = try await Self.fill(connection)
    let all = FilterComposer(nil, of: app, after: nil, indexes: []).estimate()
    return try await PendingQuery(all).run(on: connection).decode(PlannedRows.self)[0].count
  }

  @Test(arguments: [
    (#"[{"Plan":{"Node Type":"Index Only Scan","Plan Rows":1234}}]"#, 1234),
    // Citus explains one task of several.
    (
      #"""
      [{"Plan":{"Node Type":"Custom Scan","Plan Rows":100000,"Distributed Query":{"Job":{
        "Task Count":16,"Tasks Shown":"One of 16","Tasks":[
          {"Remote Plan":[[{"Plan":{"Plan Rows":2000}}]]}]}}}}]
      """#, 32_000
    ),
    (#"[{"Plan":{"Distributed Query":{"Job":{"Task Count":0,"Tasks":[]}}}}]"#, nil), ("[]", nil),
  ])
  func `a plan has its number of rows`(text: String, count: Int?) throws {
    #expect(PlannedRows.count(in: try JSON.parse(Array(text.utf8))) == count)
  }

  /// Makes users, of whom the last tenth has a domain of its own.
  @EventLoop private static func fill(
    _ connection: Connection
  ) async throws -> (AppID, [SearchIndex]) {
    let indexes = try SampleSearch.indexes()
    let app = try await connection.query("select app_id from apps where name = 'default'").rows[0][
      0]
    func id(_ name: String) throws -> String {
      try #require(indexes.first { $0.path == "metadata.\(name)" }).id.text
    }
    let (number, text, boolean) = try (id("number"), id("text"), id("boolean"))
    try await connection.script(
      """
      insert into users (user_id, app_id, anonymous, email, name, given_name, family_name, nickname,
        phone, created_at)
      select lpad(to_hex(g), 24, '0'), app_id, false, 'user' || g || '@' || case
          when g % 1000 = 1 then 'few.example' when g > \(users) * 9 / 10 then 'last.example'
          else 'all.example' end,
        'Name ' || g, 'given ' || g % 1000,
        case when g > \(users) * 9 / 10 then 'Late' else 'All' end, case when g % 1000 = 2 then 'n' end,
        '+' || g, timestamptz '2026-01-01T00:00:00Z' + g * interval '1 second'
      from apps, generate_series(1, \(users)) g where name = 'default';
      insert into search_values (user_id, index_id, number_value)
      select lpad(to_hex(g), 24, '0'), '\(number)', g from generate_series(1, \(users)) g;
      insert into search_values (user_id, index_id, text_value)
      select lpad(to_hex(g), 24, '0'), '\(text)', 'text ' || g from generate_series(1, \(users)) g;
      insert into search_values (user_id, index_id, boolean_value)
      select lpad(to_hex(g), 24, '0'), '\(boolean)', true
      from generate_series(1, \(users), 1000) g;
      insert into identities (user_id, identity_id, app_id, provider, subject)
      select lpad(to_hex(g), 24, '0'), lpad(to_hex(g), 24, '0'), app_id, 'jwt:https://few.example',
        'few' || g from apps, generate_series(1, \(users), 1000) g where name = 'default';
      insert into identity_subjects (user_id, identity_id, app_id, provider, subject)
      select user_id, identity_id, app_id, provider, subject from identities;
      analyze;
      """)
    return (AppID(trusted: try #require(app)), indexes)
  }

  /// Runs a statement.
  ///
  /// - Returns: the rows that the scans of its plan have read.
  @EventLoop private static func rowsRead<Row>(
    by statement: ComposedStatement<Row>, on connection: Connection
  ) async throws -> Int {
    let explain = "explain (analyze, costs off, timing off, format json) \(statement.sql)"
    let text = try await connection.query(explain, values(of: statement)).rows[0][0]
    let json = try JSON.parse(Array(try #require(text).utf8))
    return rows(of: try #require(json.array?.first?["Plan"]))
  }

  private static func values<Row>(of statement: ComposedStatement<Row>) -> [String?] {
    (0..<statement.sql.matches(of: /\$\d+/).count).map { place in
      statement.parameters.value(at: place, isBinary: false).map {
        String(decoding: $0, as: UTF8.self)
      }
    }
  }

  private static func rows(of node: JSON) -> Int {
    func number(_ name: String) -> Int { node[name]?.number?.int ?? 0 }
    let isScan = node["Node Type"]?.string?.contains("Scan") == true
    let own =
      number("Actual Rows") + number("Rows Removed by Filter")
      + number("Rows Removed by Index Recheck")
    let inner = (node["Plans"]?.array ?? []).map(rows(of:)).reduce(0, +)
    return inner + (isScan ? own * number("Actual Loops") : 0)
  }
}
