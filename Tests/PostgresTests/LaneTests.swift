import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests full lanes.
@Suite struct LaneTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let echo = Statement<String, String>("test.echo", "select $1::text")
    /// Waits while another connection holds the same lock.
    static let lock = Statement<NoRow>("test.lock", "select pg_advisory_lock(7)")
  }

  @EventLoop private func database(
    _ name: String, _ change: (inout DatabaseSettings) -> Void
  ) -> Database {
    var settings = DatabaseSettings.patient(name)
    change(&settings)
    let database = Database(settings)
    database.start()
    return database
  }

  /// Returns the outcome of a call: `done`, or the state of the error.
  @EventLoop private func outcome(
    _ body: @escaping @EventLoop @Sendable () async throws(DatabaseError) -> Void
  ) -> Task<String, Never> {
    EventLoop.task {
      do throws(DatabaseError) {
        try await body()
        return "done"
      } catch {
        return error.state.rawValue
      }
    }
  }

  @EventLoop private func until(_ condition: @EventLoop () -> Bool) async {
    while !condition() { await EventLoop.sleep(for: .milliseconds(1)) }
  }

  @Test @EventLoop func `a call over the length of the queue is refused at once`() async throws {
    let name = try await TestCluster.shared.createDatabase()
    let database = database(name) {
      $0.writeConnections = 1
      $0.exclusiveWaiting = 2
    }
    defer { database.stop() }
    let gate = Gate()
    let holder = outcome { () async throws(DatabaseError) in
      try await database.transaction { _ async throws(DatabaseError) in await gate.wait() }
    }
    await until { database.load.exclusive == 1 }
    let waiters = (0..<2).map { _ in
      outcome { () async throws(DatabaseError) in
        _ = try await database.write(Queries.echo, "x")
      }
    }
    await until { database.load.exclusiveWaiting == 2 }
    let refused = outcome { () async throws(DatabaseError) in
      _ = try await database.write(Queries.echo, "x")
    }
    // This call ends while the gate is closed.
    #expect(await refused.value == SQLState.laneFull.rawValue)
    #expect(database.load.exclusiveWaiting == 2)
    // Reads have a separate lane.
    #expect(try await database.read(Queries.echo, "read") == ["read"])
    gate.open()
    #expect(await holder.value == "done")
    for waiter in waiters { #expect(await waiter.value == "done") }
    #expect(database.load.exclusive == 0 && database.load.exclusiveWaiting == 0)
  }

  @Test @EventLoop func `a call that waits too long is refused`() async throws {
    let name = try await TestCluster.shared.createDatabase()
    let database = database(name) {
      $0.writeConnections = 1
      $0.exclusivePatience = .milliseconds(1)
    }
    defer { database.stop() }
    // The first caller may be refused too, before a connection exists.
    while (try? await database.write(Queries.echo, "x")) == nil {}
    let gate = Gate()
    let holder = outcome { () async throws(DatabaseError) in
      try await database.transaction { _ async throws(DatabaseError) in await gate.wait() }
    }
    await until { database.load.exclusive == 1 }
    let refused = outcome { () async throws(DatabaseError) in
      _ = try await database.write(Queries.echo, "x")
    }
    #expect(await refused.value == SQLState.laneFull.rawValue)
    gate.open()
    #expect(await holder.value == "done")
  }

  @Test @EventLoop func `a search that waits delays neither reads nor writes`() async throws {
    let name = try await TestCluster.shared.createDatabase()
    let database = database(name) { $0.searchWaiting = 1 }
    defer { database.stop() }
    let other = try await Connection.open(.patient(name, applicationName: "other"))
    defer { other.close() }
    _ = try await other.script("select pg_advisory_lock(7)")
    var searches: [Task<String, Never>] = []
    for _ in 0..<2 {
      searches.append(
        outcome { () async throws(DatabaseError) in _ = try await database.search(Queries.lock) }
      )
      await until { database.load.search + database.load.searchWaiting == searches.count }
      // The first search waits for its connection, and then for the lock.
      await until { database.load.search == 1 }
    }
    let refused = outcome { () async throws(DatabaseError) in
      _ = try await database.search(Queries.lock)
    }
    #expect(await refused.value == SQLState.laneFull.rawValue)
    #expect(try await database.read(Queries.echo, "read") == ["read"])
    #expect(try await database.write(Queries.echo, "write") == ["write"])
    _ = try await other.script("select pg_advisory_unlock(7)")
    for search in searches { #expect(await search.value == "done") }
  }

  @Test @EventLoop func `concurrent reads over the limit of the shared connection are refused`()
    async throws
  {
    let name = try await TestCluster.shared.createDatabase()
    // An unprepared read counts twice, and the end of its batch once.
    let database = database(name) { $0.expressDepth = 3 }
    defer { database.stop() }
    while !database.isReady { await EventLoop.sleep(for: .milliseconds(1)) }
    let reads = (0..<9).map { index in
      outcome { () async throws(DatabaseError) in
        _ = try await database.read(Queries.echo, "\(index)")
      }
    }
    var outcomes: [String] = []
    for read in reads { outcomes.append(await read.value) }
    #expect(outcomes.contains("done") && outcomes.contains(SQLState.laneFull.rawValue))
    #expect(Set(outcomes) == ["done", SQLState.laneFull.rawValue])
    #expect(try await database.read(Queries.echo, "after") == ["after"])
  }
}

/// A gate that blocks its callers until it opens.
@EventLoop final class Gate {
  private var isOpen = false

  func open() { isOpen = true }

  func wait() async { while !isOpen { await EventLoop.sleep(for: .milliseconds(1)) } }
}
