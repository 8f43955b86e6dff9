@testable import Documents
import EventLoop
import JSON
import Postgres
import Runtime
import TestSupport
import Testing

/// Tests of the terms of a filter for which lists are transparent.
@Suite struct TransparentListTests {
  init() { LoopThread.start() }

  private static func has(_ comparison: FilterOperator, _ value: FilterValue) -> FilterTest {
    .contains([FilterComparison(comparison, value)])
  }

  private static let range = FilterTest.contains([
    FilterComparison(.greater, .number("2")), FilterComparison(.lessOrEqual, .number("4")),
  ])

  private static let cases: [(String, [String], FilterTest, Bool)] = [
    (#"{"a":"x"}"#, ["a"], has(.equal, .text("x")), true),
    (#"{"a":"X"}"#, ["a"], has(.equal, .text("x")), false),
    (#"{"a":["y","x"]}"#, ["a"], has(.equal, .text("x")), true),
    (#"{"a":[["x"]]}"#, ["a"], has(.equal, .text("x")), true),
    (#"{"a":[{"b":"y"},{"b":["z","x"]}]}"#, ["a", "b"], has(.equal, .text("x")), true),
    (#"{"a":[{"b":"y"},{"c":"x"}]}"#, ["a", "b"], has(.equal, .text("x")), false),
    (#"{"a":"xy"}"#, ["a"], has(.beginsWith, .text("x")), true),
    (#"{"a":["yx",7]}"#, ["a"], has(.beginsWith, .text("x")), false),
    (#"{"a":"xyz"}"#, ["a"], has(.includes, .text("y")), true),
    (#"{"a":["x",{"b":"y"}]}"#, ["a"], has(.includes, .text("y")), false),
    (#"{"a":["xyz","abc"]}"#, ["a"], has(.endsWith, .text("bc")), true),
    (#"{"a":"xyz"}"#, ["a"], has(.endsWith, .text("xy")), false),
    (#"{"a":"xyz"}"#, ["a"], has(.includes, .text(".")), false),
    (#"{"a":"x.*[$^\\\"\n é"}"#, ["a"], has(.includes, .text(".*[$^\\\"\n")), true),
    (#"{"a":"xyz"}"#, ["a"], has(.endsWith, .text("")), true),
    (#"{"a":7}"#, ["a"], has(.includes, .text("7")), false),
    (#"{"a":"7"}"#, ["a"], has(.equal, .number("7")), false),
    (#"{"a":7.0}"#, ["a"], has(.equal, .number("70e-1")), true),
    (#"{"a":true}"#, ["a"], has(.equal, .boolean(true)), true),
    (#"{"a":"true"}"#, ["a"], has(.equal, .boolean(true)), false),
    (#"{"a":4}"#, ["a"], range, true), (#"{"a":2}"#, ["a"], range, false),
    // One element has to be within both bounds.
    (#"{"a":[1,3]}"#, ["a"], range, true), (#"{"a":[1,9]}"#, ["a"], range, false),
    (#"{"a\"$.*":{"é\\":1}}"#, ["a\"$.*", "é\\"], has(.equal, .number("1")), true),
    (#"{"a":"x\" || true"}"#, ["a"], has(.equal, .text("x\" || true")), true),
    (#"{"a":0}"#, ["a"], .isFilled, true), (#"{"a":""}"#, ["a"], .isFilled, true),
    (#"{"a":[null,[false]]}"#, ["a"], .isFilled, true),
    (#"{"a":{"b":{"c":1}}}"#, ["a"], .isFilled, true),
    (#"{"a":[{"b":1}]}"#, ["a", "b"], .isFilled, true),
    (#"{"a":null}"#, ["a"], .isFilled, false), (#"{"a":{}}"#, ["a"], .isFilled, false),
    (#"{"a":[]}"#, ["a"], .isFilled, false), (#"{"b":1}"#, ["a"], .isFilled, false),
    (#"{"a":{"b":null,"c":[{}]}}"#, ["a"], .isFilled, false),
  ]

  @Test func `each element of a list counts, also inside the path`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let failures = try await failures(database)
    #expect(failures == [])
  }

  @EventLoop private func failures(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    var failures: [String] = []
    for (body, names, test, expected) in Self.cases {
      let (path, variables) = try #require(test.jsonPath(from: names))
      let found = try await connection.query(
        "select jsonb_path_exists($1::jsonb, $2::jsonpath, $3::jsonb)", [body, path, variables]
      ).rows[0][0]
      if found != (expected ? "t" : "f") { failures.append("\(body) \(path): \(found ?? "null")") }
    }
    return failures
  }

  /// Tests the SQL with an index, which finds candidates, and without.
  @Test func `the searches can be prepared, and need an index`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let failures = try await unprepared(database)
    #expect(failures == [])
  }

  private static func readsParts(_ test: FilterTest) -> Bool {
    guard case .contains(let comparisons) = test else { return false }
    return comparisons.contains(where: \.comparison.isUnindexed)
  }

  @EventLoop private func unprepared(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    let plain = Filter.term(FilterTerm(subject: .profile(.name), test: .exists))
    var failures: [String] = []
    for kind in [FilterValue.Kind.text, .number, .boolean] {
      let index = try SearchIndex(path: "app_metadata.a", kind: kind)
      for (_, _, test, _) in Self.cases {
        let term = Filter.term(
          FilterTerm(subject: .document(.appMetadata, path: ["a"]), test: test)
        )
        for (filter, indexes) in [(term, [index]), (.and([plain, term]), [])] {
          let isOfKind = test.kind == nil || test.kind == kind
          let isServed = indexes.isEmpty || isOfKind && !Self.readsParts(test)
          let search = FilterComposer(
            filter, of: AppID(), after: UserPosition(UserID().text), indexes: indexes)
          if search.isCovered != isServed { failures.append("\(test) by \(kind)") }
          let page = search.page(of: 1, candidates: search.isCovered ? 1 : nil)
          for sql in [search.count(upTo: 1).sql, page.sql] {
            do {
              try await connection.script("prepare p as \(sql); deallocate p")
            } catch {
              failures.append("\(test): \(error)")
            }
          }
        }
      }
    }
    return failures
  }
}
