import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests the lanes on a real server.
@Suite struct DatabaseTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let connections = Statement<Int, String>(
      "test.connections", "select count(*) from pg_stat_activity where application_name = $1"
    )
    static let echo = Statement<String, String>("test.echo", "select $1::text")
    static let span = Statement<String, Duration>(
      "test.span", "select extract(epoch from $1::interval)::text"
    )
    static let number = Statement<String, Int>("test.number", "select $1::bigint::text")
    static let divide = Statement<Int, Int>("test.divide", "select 100 / $1::int")
    static let wrong = Statement<Int>("test.wrong", "select no_such_column")
    static let make = Statement<NoRow>(
      "test.make", "create table counters (id int primary key, n int not null)"
    )
    static let add = Statement<NoRow, Int>("test.add", "insert into counters values ($1, 0)")
    static let grow = Statement<Int, Int>(
      "test.grow", "update counters set n = n + 1 where id = $1 returning n"
    )
    static let rows = Statement<Int>("test.rows", "select count(*) from counters")
    static let count = Statement<Int>("test.count", "select sum(n)::int from counters")
    static let sleep = Statement<String, Int>("test.sleep", "select 'slept' from pg_sleep($1::int)")
    static let backend = Statement<Int>("test.backend", "select pg_backend_pid()")
    static let isBusy = Statement<Bool, Int>(
      "test.is_busy",
      """
      select state = 'active' and query like '%pg_sleep%' from pg_stat_activity where pid = $1
      """)
    static let kill = Statement<Bool, Int>("test.kill", "select pg_terminate_backend($1::int)")
  }

  @EventLoop private func database(
    _ change: (inout DatabaseSettings) -> Void = { _ in }
  ) async throws -> Database {
    let conninfo = try await TestCluster.shared.createDatabase()
    var settings = DatabaseSettings.patient(conninfo)
    change(&settings)
    let database = Database(settings)
    database.start()
    return database
  }

  @Test func `a failure in a batch affects only its own statement`() async throws {
    let outcomes = try await batch()
    #expect(outcomes.filter { $0 == "22012" }.count == 10)
    #expect(outcomes.filter { $0 == "42703" }.count == 1)
    #expect(outcomes.filter { $0 == "echo" }.count == 189)
  }

  @EventLoop func batch() async throws -> [String] {
    let database = try await database()
    defer { database.stop() }
    let tasks = (0..<200).map { index in
      Task { @EventLoop in
        do throws(DatabaseError) {
          if index % 20 == 3 { return "\(try await database.read(Queries.divide, 0))" }
          if index == 11 { return "\(try await database.read(Queries.wrong))" }
          let text = "row \(index) é"
          return try await database.read(Queries.echo, text) == [text] ? "echo" : "mixed up"
        } catch {
          return error.state.rawValue
        }
      }
    }
    var outcomes: [String] = []
    for task in tasks { outcomes.append(await task.value) }
    return outcomes
  }

  @Test(arguments: [
    (Duration.zero, "0.000000"), (.seconds(90), "90.000000"),
    (.microseconds(1_500_001), "1.500001"),
    (.seconds(36_500 * 86_400), "3153600000.000000"), (.seconds(-61), "-61.000000"),
    (.microseconds(-1), "-0.000001"), (.milliseconds(-3_599_999), "-3599.999000"),
  ])
  @EventLoop func `a duration is sent as an interval`(_ span: Duration, _ text: String)
    async throws
  {
    let database = try await database()
    defer { database.stop() }
    #expect(try await database.read(Queries.span, span) == [text])
  }

  @Test(arguments: [0, 7, 10, 999, 1_000, -1, -10, .max, .min])
  @EventLoop func `a number is sent with all its digits`(_ number: Int) async throws {
    let database = try await database()
    defer { database.stop() }
    #expect(try await database.read(Queries.number, number) == [String(number)])
  }

  /// A statement after a failure must not run after the transaction.
  @Test @EventLoop
  func `statements sent together in a transaction fail together, with the first error`()
    async throws
  {
    let database = try await database()
    defer { database.stop() }
    _ = try await database.write(Queries.make)
    for way in 0..<4 {
      var state: SQLState?
      do throws(DatabaseError) {
        try await database.transaction { (transaction) async throws(DatabaseError) in
          _ = transaction.send(Queries.add, 1)
          _ = transaction.send(Queries.divide, 0)
          switch way {
          case 0: break
          case 1: _ = try await transaction.send(Queries.add, 2).rows()
          case 2: _ = try await transaction.run(Queries.add, 2)
          default:
            // The failure has arrived before the next statement is sent.
            await EventLoop.sleep(for: .milliseconds(50))
            _ = try await transaction.run(Queries.add, 2)
          }
        }
      } catch {
        state = error.state
      }
      #expect(state?.rawValue == "22012")
      #expect(try await database.read(Queries.rows) == [0])
    }
    let grown = try await database.transaction { (transaction) async throws(DatabaseError) in
      _ = transaction.send(Queries.add, 1)
      _ = transaction.send(Queries.add, 2)
      let grown = transaction.send(Queries.grow, 1)
      return try await grown.rows()
    }
    #expect(grown == [1])
    #expect(try await database.read(Queries.rows) == [2])
  }

  @Test @EventLoop func `a commit sent ahead stores all statements or none`()
    async throws
  {
    let database = try await database()
    defer { database.stop() }
    _ = try await database.write(Queries.make)
    for isAwaited in [true, false] {
      var state: SQLState?
      do throws(DatabaseError) {
        try await database.transaction { (transaction) async throws(DatabaseError) in
          _ = transaction.send(Queries.add, 1)
          let failing = transaction.send(Queries.divide, 0)
          transaction.sendCommit()
          if isAwaited { _ = try await failing.rows() }
        }
      } catch {
        state = error.state
      }
      #expect(state?.rawValue == "22012")
      #expect(try await database.read(Queries.rows) == [0])
    }
    let grown = try await database.transaction { (transaction) async throws(DatabaseError) in
      _ = transaction.send(Queries.add, 1)
      let grown = transaction.send(Queries.grow, 1)
      transaction.sendCommit()
      return try await grown.rows()
    }
    #expect(grown == [1])
    #expect(try await database.read(Queries.rows) == [1])
  }

  @Test func `a transaction that throws is rolled back, and conflicts are repeated`()
    async throws
  {
    let total = try await transactions()
    #expect(total == 24)
  }

  @EventLoop func transactions() async throws -> Int {
    let database = try await database()
    defer { database.stop() }
    _ = try await database.write(Queries.make)
    for id in 1...2 { _ = try await database.write(Queries.add, id) }
    let refused: Bool
    do throws(DatabaseError) {
      try await database.transaction { (transaction) async throws(DatabaseError) in
        _ = try await transaction.run(Queries.grow, 1)
        _ = try await transaction.run(Queries.divide, 0)
      }
      refused = false
    } catch {
      refused = error.state.rawValue == "22012"
    }
    #expect(refused)
    // The locks are taken in opposite orders, so PostgreSQL aborts one transaction with 40P01.
    for _ in 0..<6 {
      let tasks = (0..<2).map { index in
        Task { @EventLoop in
          try await database.transaction { (transaction) async throws(DatabaseError) in
            _ = try await transaction.run(Queries.grow, 1 + index % 2)
            _ = try await transaction.run(Queries.grow, 2 - index % 2)
          }
        }
      }
      for task in tasks { try await task.value }
    }
    return try await database.read(Queries.count)[0]
  }

  @Test func `a transaction that ignores a failure fails with it`() async throws {
    let state = try await passedOver()
    #expect(state == "22012")
  }

  @EventLoop func passedOver() async throws -> String {
    let database = try await database()
    defer { database.stop() }
    do throws(DatabaseError) {
      try await database.transaction { (transaction) async throws(DatabaseError) in
        _ = try? await transaction.run(Queries.divide, 0)
      }
      return "committed"
    } catch {
      return error.state.rawValue
    }
  }

  @Test func `the server cancels a statement that takes too long`() async throws {
    let state = try await slow()
    #expect(state == "57014")
  }

  @EventLoop func slow() async throws -> String {
    let database = try await database { $0.readTimeout = .seconds(1) }
    defer { database.stop() }
    do throws(DatabaseError) {
      return try await database.read(Queries.sleep, 100_000)[0]
    } catch {
      return error.state.rawValue
    }
  }

  @Test func `a database that is stopped during a connection attempt stays stopped`() async throws {
    #expect(try await stopped() == 0)
  }

  /// - Returns: the number of connections that remain on the server.
  @EventLoop func stopped() async throws -> Int {
    let name = try await TestCluster.shared.createDatabase()
    for _ in 0..<20 {
      let database = Database(DatabaseSettings(conninfo: name, applicationName: "stopped"))
      database.start()
      await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...8)))
      database.stop()
    }
    let other = try await database()
    defer { other.stop() }
    // The server notices closed connections after a moment. A leaked one would stay.
    var left = 1
    for _ in 0..<3_000 where left > 0 {
      left = try await other.read(Queries.connections, "stopped")[0]
      if left > 0 { await EventLoop.sleep(for: .milliseconds(20)) }
    }
    return left
  }

  @Test func `a lost connection is replaced`() async throws {
    let (lost, after) = try await reconnect()
    #expect(lost)
    #expect(after == ["back"])
  }

  /// - Returns: whether the running statement failed because of the loss, and the next result.
  @EventLoop func reconnect() async throws -> (Bool, [String]) {
    let database = try await database()
    defer { database.stop() }
    let backend = try await database.read(Queries.backend)[0]
    let reading = EventLoop.task { () -> DatabaseError? in
      do throws(DatabaseError) {
        _ = try await database.read(Queries.sleep, 100_000)
        return nil
      } catch {
        return error
      }
    }
    while try await database.write(Queries.isBusy, backend) != [true] {}
    _ = try await database.write(Queries.kill, backend)
    let error = await reading.value
    // Until then, each call reports at once that the database is unavailable.
    while !database.isReady { await EventLoop.sleep(for: .milliseconds(1)) }
    return (error?.isConnectionLost == true, try await database.read(Queries.echo, "back"))
  }
}
