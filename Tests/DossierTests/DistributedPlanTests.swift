import EventLoop
import Migrations
import Postgres
import TestSupport
import Testing

/// Explains every statement on a database that is distributed over two nodes of Citus.
@Suite(.enabled(if: DistributedCluster.isInstalled, "Citus is not installed"))
struct DistributedPlanTests {
  init() { LoopThread.start() }

  /// Statements that insert rows of many keys, which the coordinator distributes.
  static let ofRows = [
    "apps.add_hosts", "imports.create", "imports.passwords", "imports.identities",
    "imports.passkeys", "imports.claims", "imports.roles", "imports.documents",
    "imports.move_events",
  ]
  /// A statement that Citus runs, and cannot explain with parameters.
  static let unexplained = "imports.move_events"

  @Test @EventLoop func `statements ask one shard, except the listed ones`() async throws {
    let connection = try await Self.connect()
    defer { connection.close() }
    for statement in allStatements where "\(statement.name)" != Self.unexplained {
      let name = "\(statement.name)"
      let isListed = StatementRulesTests.listed.contains(name[...]) || Self.ofRows.contains(name)
      do throws(DatabaseError) {
        let types = try await Self.prepare(statement, on: connection)
        for values in Self.lists(of: types, statement.optionalParameters) {
          await Self.examine(statement, values, ofOneKey: !isListed, on: connection)
        }
      } catch {
        Issue.record("\(name): \(error)")
      }
    }
  }

  @Test @EventLoop func `shards find users by the words of their names in an index`() async throws {
    let connection = try await Self.connect()
    defer { connection.close() }
    try await connection.script(
      """
      insert into users (user_id, app_id, anonymous, name)
      select lpad(to_hex(g), 24, '0'), app_id, false, 'Name ' || g
      from apps, generate_series(1, 8000) g where apps.name = 'default';
      analyze users;
      """)
    let found = try await connection.query("select app_id from apps where name = 'default'")
    let app = try #require(found.rows[0][0])
    // The coordinator sends the condition as text, which each shard compares with its index.
    let plan = try await connection.query(
      """
      explain (costs off) select user_id from users
      where app_id = '\(app)'
        and coalesce(name, given_name, family_name, nickname) is not null
        and name_lexemes(app_id, name, given_name, family_name, nickname)
          @@ name_query('\(app)', 'name 77', ':*') limit 100
      """
    ).rows.compactMap { $0[0] }.joined(separator: "\n")
    #expect(plan.contains("users_by_name_words"), "\(plan)")
  }

  /// Connects to a new database that is distributed.
  @EventLoop private static func connect() async throws -> Connection {
    let database = try DistributedCluster().createDatabase()
    let session = try await MigratorSession.open(database) { _ in }
    let migrations = try MigrationFolder("\(SourceFiles.repository)/migrations").migrations()
    _ = try await Runner(session, migrations).run(to: .latest, lockTimeout: nil)
    #expect(try await Distributor(session, migrations).run(lockTimeout: nil) > 0)
    return session.connection
  }

  /// Prepares a statement.
  ///
  /// - Returns: the types of its parameters.
  @EventLoop private static func prepare(
    _ statement: any PreparedStatement, on connection: Connection
  ) async throws(DatabaseError) -> [String] {
    try await connection.script("prepare \"\(statement.name)\" as \(statement.sql)")
    return try await connection.query(
      "select unnest(parameter_types)::text from pg_prepared_statements where name = $1",
      ["\(statement.name)"]
    ).rows.compactMap { $0[0] }
  }

  /// Returns lists of values: an ordinary one, and others with nulls and false.
  ///
  /// PostgreSQL simplifies a statement for such values before Citus sees it.
  private static func lists(of types: [String], _ areOptional: [Bool]) -> [String] {
    let ordinary = types.enumerated().map { sample($0, of: $1) }
    let special = types.indices.flatMap { index in
      (areOptional[index] ? [(index, "null")] : [])
        + (types[index] == "boolean" ? [(index, "false")] : [])
    }
    return ([[], special] + special.map { [$0] }).map { changes in
      var values = ordinary
      for (index, value) in changes { values[index] = value }
      let list = zip(values, types).map { "\($0)::\($1)" }
      return list.isEmpty ? "" : "(\(list.joined(separator: ", ")))"
    }
  }

  /// Records an issue if an execution cannot be planned, or asks several shards despite one key.
  @EventLoop private static func examine(
    _ statement: any PreparedStatement, _ values: String, ofOneKey hasOneKey: Bool,
    on connection: Connection
  ) async {
    let execution = "\"\(statement.name)\"\(values)"
    do throws(DatabaseError) {
      let plan = try await connection.query("explain (costs off) execute \(execution)").rows
        .compactMap { $0[0] }.joined(separator: "\n")
      #expect(!hasOneKey || asksOneShard(plan, "\(statement.sql)"), "\(execution):\n\(plan)")
    } catch {
      Issue.record("\(execution): \(error)")
    }
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
    case "date": "'2026-01-01'"
    case _ where type.hasPrefix("timestamp"): "'2026-01-01'"
    case "interval": "'1 day'"
    default: "'\(index + 1)'"
    }
  }

  /// Whether each part of a plan is one task that its node can plan, and no rows pass through the
  /// coordinator.
  ///
  /// There is no task if no shard can have a row. If a part of a statement has none, Citus asks a node
  /// to distribute the statement again, which leaves out other parts.
  private static func asksOneShard(_ plan: String, _ sql: String) -> Bool {
    let counts = plan.matches(of: /Task Count: (\d+)/).compactMap { Int($0.1) }
    return (counts.allSatisfy { $0 == 1 } || counts == [0] && !sql.hasPrefix("with"))
      && !plan.contains("INSERT/SELECT method") && !plan.contains("Could not get remote plan")
  }
}

extension PreparedStatement {
  /// Whether each parameter may be null.
  fileprivate var optionalParameters: [Bool] { (self as? any Parameterized)?.areOptional ?? [] }
}

private protocol Parameterized {
  var areOptional: [Bool] { get }
}

extension Statement: Parameterized {
  fileprivate var areOptional: [Bool] {
    var found: [Bool] = []
    repeat found.append((each Parameter).self is any AnyOptional.Type)
    return found
  }
}

private protocol AnyOptional {}

extension Optional: AnyOptional {}
