import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests that the severity of an error decides whether a connection is lost.
@Suite struct SeverityTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let fail = Statement<Int, String>("test.fail", "select fail($1)::bigint")
    static let backend = Statement<Int>("test.backend", "select pg_backend_pid()::bigint")
    static let sleep = Statement<Int>("test.sleep", "select 1::bigint from pg_sleep(0.2)")
    static let end = Statement<Int, Int>(
      "test.end", "select pg_terminate_backend($1::int)::int::bigint"
    )
  }

  /// Starts a database in which a function fails with a given SQLSTATE, as a node of Citus does.
  @EventLoop private func database() async throws -> Database {
    let name = try await TestCluster.shared.createDatabase()
    let connection = try await Connection.open(.patient(name))
    try await connection.script(
      """
      create function fail(state text) returns int language plpgsql as $$
        begin
          if state = 'XX000' then
            raise 'server closed the connection unexpectedly' using errcode = state;
          end if;
          raise 'connection to the remote node failed' using errcode = state;
        end $$
      """)
    connection.close()
    let database = Database(.patient(name))
    database.start()
    return database
  }

  @EventLoop private func error(
    _ body: @EventLoop () async throws(DatabaseError) -> Void
  ) async -> DatabaseError? {
    do throws(DatabaseError) {
      try await body()
      return nil
    } catch {
      return error
    }
  }

  @Test(arguments: ["08006", "08003", "57P01", "XX000"]) @EventLoop
  func `a node that is away fails only the reads that need it`(state: String) async throws {
    let database = try await database()
    defer { database.stop() }
    let backend = try await database.read(Queries.backend)
    // Another read is under way on the same connection.
    let other = EventLoop.task { () -> [Int]? in try? await database.read(Queries.sleep) }
    let failure = await error { () async throws(DatabaseError) in
      _ = try await database.read(Queries.fail, state)
    }
    #expect(failure?.state.rawValue == (state == "XX000" ? "08006" : state))
    #expect(failure?.isConnectionLost == false && failure?.isTransient == true)
    #expect(await other.value == [1])
    #expect(try await database.read(Queries.backend) == backend)
  }

  @Test @EventLoop
  func `a node that is away fails a transaction, and its connection stays`() async throws {
    let database = try await database()
    defer { database.stop() }
    let backend = try await database.write(Queries.backend)
    let failure = await error { () async throws(DatabaseError) in
      try await database.transaction { transaction async throws(DatabaseError) in
        _ = try await transaction.run(Queries.fail, "08006")
      }
    }
    #expect(failure?.isServerAway == true && failure?.isConnectionLost == false)
    #expect(try await database.write(Queries.backend) == backend)
  }

  @Test @EventLoop func `a fatal error loses the connection`() async throws {
    let database = try await database()
    defer { database.stop() }
    let backend = try await database.read(Queries.backend)
    let failure = await error { () async throws(DatabaseError) in
      try await database.transaction { transaction async throws(DatabaseError) in
        let own = try await transaction.run(Queries.backend)[0]
        _ = try await transaction.run(Queries.end, own)
      }
    }
    #expect(failure?.isConnectionLost == true && failure?.isTransient == true)
    #expect(try await database.read(Queries.backend) == backend)
  }
}
