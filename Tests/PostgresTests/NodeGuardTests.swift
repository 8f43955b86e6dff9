import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests nodes of a distributed database that do not answer.
///
/// The database is not distributed: a function waits if the node of its key is in a table.
@Suite struct NodeGuardTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let echo = Statement<String, String>("test.node_echo", "select answer($1)")
    static let add = Statement<NoRow, String>(
      "test.node_add", "insert into added values (answer($1))"
    )
    static let count = Statement<Int>("test.node_count", "select count(*) from added")
    static let all = Statement<Int>("test.node_all", "select count(answer('x')) from added")

    static let ranges = Statement<ShardRange>("test.node_ranges", "select * from ranges")
    static let probe = Statement<Int, String>("test.node_probe", "select 1 from answer($1)")
  }

  /// Opens a database with two nodes; keys with a negative hash are on node 1.
  @EventLoop private func database() async throws -> (Database, Connection) {
    let name = try await TestCluster.shared.createDatabase()
    let connection = try await Connection.open(.patient(name))
    try await connection.script(
      """
      create table ranges (name text, least bigint, greatest bigint, node bigint);
      insert into ranges values ('keys', -2147483648, -1, 1), ('keys', 0, 2147483647, 2);
      create table frozen (node bigint);
      create table added (key text);
      create function answer(key text) returns text language plpgsql as $$ begin
        perform pg_sleep(1000) from frozen where node = case when hashtext(key) < 0 then 1 else 2 end;
        return key;
      end $$
      """)
    var settings = DatabaseSettings.patient(name)
    settings.suspicion = .milliseconds(50)
    settings.readTimeout = .milliseconds(300)
    settings.grace = .seconds(300)
    settings.nodes = NodeSettings(
      ranges: Queries.ranges, probe: Queries.probe, group: "keys", binaryGroups: []
    ) { sql in
      switch "\(sql)" {
      case let text where text.contains("$1"): .node(parameter: 0, group: "keys")
      case let text where text.contains("answer"): .allNodes
      default: .coordinator
      }
    }
    let database = Database(settings)
    database.start()
    return (database, connection)
  }

  /// Returns a key of each node.
  @EventLoop private func keys(_ connection: Connection) async throws -> (String, String) {
    let rows = try await connection.query(
      """
      select min(n::text) filter (where hashtext(n::text) < 0),
        min(n::text) filter (where hashtext(n::text) >= 0) from generate_series(1, 100) as n
      """
    ).rows
    return (try #require(rows[0][0]), try #require(rows[0][1]))
  }

  /// Returns whether `body` is refused because of a silent node.
  @EventLoop private func isRefused(
    _ body: @EventLoop () async throws(DatabaseError) -> Void
  ) async -> Bool {
    do throws(DatabaseError) {
      try await body()
      return false
    } catch {
      return error.message == "a node of the database does not answer" && error.isTransient
    }
  }

  @EventLoop private func wait(until condition: @EventLoop () async -> Bool) async {
    while await !condition() { await EventLoop.sleep(for: .milliseconds(5)) }
  }

  @EventLoop private func isRead(_ key: String, on database: Database) async -> Bool {
    (try? await database.read(Queries.echo, key)) == [key]
  }

  @Test @EventLoop func `a silent node delays no statement of the other`() async throws {
    let (database, connection) = try await database()
    defer {
      database.stop()
      connection.close()
    }
    let (away, other) = try await keys(connection)
    await wait { await isRead(away, on: database) }
    try await connection.script("insert into frozen values (1)")
    await wait {
      await isRefused { () async throws(DatabaseError) in
        _ = try await database.read(Queries.echo, away)
      }
    }

    await wait { await isRead(other, on: database) }
    #expect(try await database.write(Queries.count) == [0])
    #expect(
      await isRefused { () async throws(DatabaseError) in
        _ = try await database.search(Queries.all)
      }
    )
    // After a refused statement, nothing of the transaction is done.
    #expect(
      await isRefused { () async throws(DatabaseError) in
        try await database.transaction { transaction async throws(DatabaseError) in
          let refused = transaction.send(Queries.add, away)
          _ = transaction.send(Queries.add, other)
          transaction.sendCommit()
          _ = try await refused.rows()
        }
      }
    )
    #expect(try await database.write(Queries.count) == [0])

    try await connection.script("delete from frozen")
    await wait { await isRead(away, on: database) }
    #expect(try await database.search(Queries.all) == [0])
  }
}
