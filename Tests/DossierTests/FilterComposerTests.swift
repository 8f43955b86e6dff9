import Accounts
@testable import Documents
import Runtime
import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct FilterComposerTests {
  init() { LoopThread.start() }

  private static let values = [
    "text": #""x""#, "number": "7", "boolean": "true", "time": #""2026-01-31""#,
  ]

  /// Filters with each operator on each member of the profile and each kind of value, with and without index.
  private static var filters: [String] {
    let paths =
      ProfileMember.allCases.map { ($0.rawValue, $0.kind.rawValue) }
      + SampleSearch.kinds.flatMap { kind in
        [("metadata.\(kind)", kind), ("metadata.plain", kind)]
      }
    return paths.flatMap { path, kind in
      FilterOperator.allCases.map { "\(path) \($0.rawValue) \(values[kind] ?? "")" }
        + ["\(path) exists", "\(path) in (\(values[kind] ?? ""), \(values[kind] ?? ""))"]
    }.filter { (try? Filter.parse($0)) != nil }
  }

  @Test func `an index is on a path with the same bytes`() throws {
    let index = try SearchIndex(path: #"metadata.a."\#u{e9}""#, kind: .text)
    #expect(index.isOn(.metadata, ["a", "\u{e9}"]))
    // The same text for Swift.
    #expect(!index.isOn(.metadata, ["a", "e\u{301}"]))
    #expect(!index.isOn(.metadata, ["a"]) && !index.isOn(.customData, ["a", "\u{e9}"]))
  }

  @Test func `every piece of every search can be prepared`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    #expect(try await prepareAll(database) == [])
    #expect(Self.filters.count > 120)
  }

  @EventLoop func prepareAll(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    var failures: [String] = []
    for filter in Self.filters {
      for text in [filter, "not (\(filter))", "name exists or \(filter)"] {
        do {
          // The index on `name` covers filters that have no index of their own.
          let sql = try SampleSearch.sql("name exists and (\(text))")
          let alone = try? SampleSearch.sql(text)
          for sql in sql + (alone ?? []) {
            #expect(!sql.contains("'x'") && !sql.contains("2026") && !sql.contains("plain"))
            try await connection.script("prepare p as \(sql); deallocate p")
          }
        } catch {
          failures.append("\(text): \(error)")
        }
      }
    }
    return failures
  }

  @Test(arguments: [
    (#"name = "x""#, true), (#"name != "x""#, false), (#"not name = "x""#, false),
    ("blocked = true", false), (#"metadata.text = "x""#, true), ("metadata.text = 1", false),
    ("metadata.text exists", true), (#"metadata.plain = "x""#, false),
    (#"name = "x" or metadata.plain = 1"#, false), (#"name = "x" or metadata.number = 1"#, true),
    (#"metadata.plain = 1 and (name = "x" or email = "x")"#, true),
    (#"metadata.plain = 1 and (name = "x" or blocked = true)"#, false),
    (#"(blocked = true and name = "x") or (metadata.boolean = true and name exists)"#, true),
    (#"custom_data.text = "x""#, false), (#"last_login_at > "2026-01-01""#, false),
  ])
  func `an index must cover all users that can match`(text: String, isServed: Bool) throws {
    if isServed {
      #expect(throws: Never.self) { try SampleSearch.sql(text) }
    } else {
      #expect(throws: Failure.self) { try SampleSearch.sql(text) }
    }
  }
}
