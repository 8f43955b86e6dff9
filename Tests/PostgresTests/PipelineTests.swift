import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests that statements are repeated if the server aborts them because of another one.
@Suite struct PipelineTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let divide = Statement<Int, Int>("test.divide", "select 100 / $1::int")
    static let wrong = Statement<Int>("test.wrong", "select no_such_column")
    static let echo = Statement<String, String>("test.echo", "select $1::text")
    static let other = Statement<String, String>("test.other", "select upper($1::text)")
  }

  @EventLoop private func database() async throws -> Database {
    let name = try await TestCluster.shared.createDatabase()
    let settings = DatabaseSettings.patient(name)
    let database = Database(settings)
    database.start()
    while !database.isReady { await EventLoop.sleep(for: .milliseconds(1)) }
    return database
  }

  @EventLoop private func read<Row: RowDecodable & Sendable, each Value: Sendable>(
    _ database: Database, _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) -> Task<Result<[Row], DatabaseError>, Never> {
    let values = (repeat each values)
    return EventLoop.task {
      do throws(DatabaseError) {
        return .success(try await database.read(statement, repeat each values))
      } catch {
        return .failure(error)
      }
    }
  }

  /// Waits until this turn's statements were sent, and returns before a result is read.
  @EventLoop private func endOfTurn() async {
    await withUnsafeContinuation { continuation in
      EventLoop.atEndOfTurn { EventLoop.atEndOfTurn { continuation.resume() } }
    }
  }

  @Test @EventLoop func `a statement after a failure in its batch still succeeds`()
    async throws
  {
    let database = try await database()
    defer { database.stop() }
    for _ in 0..<3 {
      let failing = read(database, Queries.divide, 0)
      let echo = read(database, Queries.echo, "é")
      let other = read(database, Queries.other, "x")
      #expect(await state(failing) == "22012")
      #expect(try await echo.value.get() == ["é"])
      #expect(try await other.value.get() == ["X"])
    }
  }

  @Test @EventLoop
  func `a statement is prepared again if its preparation was aborted`()
    async throws
  {
    let database = try await database()
    defer { database.stop() }
    // The batch that prepares `echo` is aborted. The next batch is sent before that is known.
    let failing = read(database, Queries.divide, 0)
    let first = read(database, Queries.echo, "first")
    await endOfTurn()
    let second = read(database, Queries.echo, "second")
    #expect(await state(failing) == "22012")
    #expect(try await first.value.get() == ["first"])
    #expect(try await second.value.get() == ["second"])
  }

  @Test @EventLoop func `a statement that cannot be prepared fails each time, without others`()
    async throws
  {
    let database = try await database()
    defer { database.stop() }
    for _ in 0..<3 {
      let wrong = read(database, Queries.wrong)
      let right = (0..<5).map { read(database, Queries.echo, "\($0)") }
      #expect(await state(wrong) == "42703")
      for (index, task) in right.enumerated() {
        #expect(try await task.value.get() == ["\(index)"])
      }
    }
  }

  private func state<Row>(_ task: Task<Result<[Row], DatabaseError>, Never>) async -> String? {
    guard case .failure(let error) = await task.value else { return nil }
    return error.state.rawValue
  }
}
