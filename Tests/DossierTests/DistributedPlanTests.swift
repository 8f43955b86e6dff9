import EventLoop
import Migrations
import Postgres
import TestSupport
import Testing

/// Explains every statement on a database that is distributed over two nodes of Citus.
@Suite(.enabled(if: DistributedCluster.isInstalled, "Citus is not installed"))
struct DistributedPlanTests {
  init() { LoopThread.start() }

  /// Statements that insert the rows of a parameter, which the coordinator distributes.
  private static let ofRows = ["apps.add_hosts", "imports.roles", "imports.documents"]

  @Test @EventLoop func `statements ask one shard, except the listed ones`() async throws {
    let database = try DistributedCluster.createDatabase()
    let session = try await MigratorSession.open(database) { _ in }
    let migrations = try MigrationFolder("\(SourceFiles.repository)/migrations").migrations()
    _ = try await Runner(session, migrations).run(to: .latest, lockTimeout: nil)
    #expect(try await Distributor(session, migrations).run(lockTimeout: nil) > 0)
    let connection = session.connection
    defer { connection.close() }
    for statement in allStatements {
      let name = "\(statement.name)"
      if StatementRulesTests.listed.contains(name[...]) || Self.ofRows.contains(name) { continue }
      do throws(DatabaseError) {
        let plan = try await plan(of: statement, on: connection)
        #expect(Self.asksOneShard(plan), "\(statement.name):\n\(plan)")
      } catch {
        Issue.record("\(statement.name): \(error)")
      }
    }
  }

  /// Returns the plan for parameters with different values.
  @EventLoop private func plan(
    of statement: any PreparedStatement,
    on connection: Connection
  ) async throws(DatabaseError) -> String {
    let name = "\"\(statement.name)\""
    try await connection.script("prepare \(name) as \(statement.sql)")
    let types = try await connection.query(
      "select unnest(parameter_types)::text from pg_prepared_statements where name = $1",
      ["\(statement.name)"]
    ).rows.compactMap { $0[0] }
    let values = types.enumerated().map { "\(Self.sample($0, of: $1))::\($1)" }
    let list = values.isEmpty ? "" : "(\(values.joined(separator: ", ")))"
    return try await connection.query("explain (costs off) execute \(name)\(list)").rows
      .compactMap { $0[0] }.joined(separator: "\n")
  }

  /// Returns a value whose text differs from that of other parameters, so that equal shards are
  /// those of one key.
  private static func sample(_ index: Int, of type: String) -> String {
    let id = String(repeating: String(index % 16, radix: 16), count: 24)
    return switch type {
    case "text": "'\(id)'"
    case "bytea": "'\\x\(id)'"
    case "boolean": "true"
    case "json", "jsonb": "'{}'"
    case "inet": "'127.0.0.1'"
    case _ where type.hasSuffix("[]"): "'{}'"
    case _ where type.hasPrefix("timestamp"): "'2026-01-01'"
    case "interval": "'1 day'"
    default: "'\(index + 1)'"
    }
  }

  /// Whether each part of a plan is one task that its node can plan, and no rows pass through the
  /// coordinator.
  private static func asksOneShard(_ plan: String) -> Bool {
    let counts = plan.matches(of: /Task Count: (\d+)/).compactMap { Int($0.1) }
    return counts.allSatisfy { $0 <= 1 } && !plan.contains("INSERT/SELECT method")
      && !plan.contains("Could not get remote plan")
  }
}
