import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct StatementsTests {
  init() { LoopThread.start() }

  @Test func `every statement can be prepared against the migrated schema`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    let failures = try await prepareAll(database)
    #expect(failures == [])
  }

  @EventLoop func prepareAll(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    var failures: [String] = []
    for statement in allStatements {
      do throws(DatabaseError) {
        try await connection.script("prepare \"\(statement.name)\" as \(statement.sql)")
      } catch {
        failures.append("\(statement.name): \(error)")
      }
    }
    return failures
  }

  @Test func `no two statements have one name`() {
    let names = allStatements.map { "\($0.name)" }
    #expect(Set(names).count == names.count)
  }

  /// Tests RFC 7396, appendix A, for objects in the database.
  @Test(arguments: [
    (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
    (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    (#"{"a":"foo"}"#, "null", "null"),
    (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
    ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
  ])
  func `the database merges according to RFC 7396`(
    target: String, patch: String, result: String
  ) async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    #expect(try await merge(database, target, patch, result) == "t")
  }

  @EventLoop func merge(
    _ database: String, _ target: String, _ patch: String, _ result: String
  ) async throws -> String? {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    return try await connection.query(
      "select merge_patch($1::jsonb, $2::jsonb) = $3::jsonb", [target, patch, result]
    ).rows[0][0]
  }
}
