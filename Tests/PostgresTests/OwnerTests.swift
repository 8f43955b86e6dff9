import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests which of several owners gets a connection of a lane.
@Suite struct OwnerTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let echo = Statement<String, String>("test.owner_echo", "select $1::text")
    static let make = Statement<NoRow>("test.owner_make", "create table things (id int)")
    static let add = Statement<NoRow>("test.owner_add", "insert into things values (1)")
    static let lock = Statement<Int>("test.owner_lock", "select id from things for update")
  }

  @EventLoop private func database(
    _ change: (inout DatabaseSettings) -> Void
  ) async throws -> Database {
    var settings = DatabaseSettings.patient(try await TestCluster.shared.createDatabase())
    change(&settings)
    let database = Database(settings)
    database.start()
    while !database.isReady { await EventLoop.sleep(for: .milliseconds(1)) }
    return database
  }

  /// Starts a write.
  ///
  /// Its value is `done`, or the state of the error.
  @EventLoop private func write(_ database: Database, _ owner: Owner?) -> Task<String, Never> {
    EventLoop.task {
      do throws(DatabaseError) {
        let call = PendingQuery(Queries.echo, "x")
        _ = try await database.answer(to: call, on: .exclusive, for: owner)
        return "done"
      } catch {
        return error.state.rawValue
      }
    }
  }

  /// Holds a connection until the gate is opened.
  @EventLoop private func hold(
    _ database: Database, _ owner: Owner, _ gate: Gate
  ) async -> Task<Void, Never> {
    let before = database.load.exclusive
    let task = EventLoop.task {
      do throws(DatabaseError) {
        try await database.transaction(for: owner) { _ async throws(DatabaseError) in
          await gate.wait()
        }
      } catch {
        Issue.record(error)
      }
    }
    while database.load.exclusive == before { await EventLoop.sleep(for: .milliseconds(1)) }
    return task
  }

  @Test @EventLoop func `a user has one connection, and waits while others are free`()
    async throws
  {
    let database = try await database { $0.writeConnections = 4 }
    defer { database.stop() }
    let gate = Gate()
    let held = await hold(database, Owner("network", "user"), gate)
    // The same user calls from another network.
    let more = ["network", "elsewhere"].map { write(database, Owner($0, "user")) }
    while database.load.exclusiveWaiting < 2 { await EventLoop.sleep(for: .milliseconds(1)) }
    let others = [Owner("network", "other"), Owner("network", nil), Owner("stranger", "x"), nil]
    for other in others {
      #expect(await write(database, other).value == "done")
    }
    #expect(database.load.exclusive == 1 && database.load.exclusiveWaiting == 2)
    gate.open()
    await held.value
    for write in more { #expect(await write.value == "done") }
  }

  @Test @EventLoop func `a network leaves one connection to others`() async throws {
    let database = try await database { $0.writeConnections = 3 }
    defer { database.stop() }
    let gate = Gate()
    let held = [
      await hold(database, Owner("network", "1"), gate),
      await hold(database, Owner("network", "2"), gate),
    ]
    let more = write(database, Owner("network", "3"))
    while database.load.exclusiveWaiting < 1 { await EventLoop.sleep(for: .milliseconds(1)) }
    #expect(await write(database, Owner("another", "4")).value == "done")
    #expect(database.load.exclusiveWaiting == 1)
    gate.open()
    for task in held { await task.value }
    #expect(await more.value == "done")
  }

  @Test @EventLoop func `an owner with a full share is refused, and others are not`()
    async throws
  {
    let database = try await database {
      $0.writeConnections = 2
      $0.exclusiveWaiting = 14
    }
    defer { database.stop() }
    let gate = Gate()
    let greedy = Owner("network", "greedy")
    let held = await hold(database, greedy, gate)
    var waiting = (0..<3).map { _ in write(database, greedy) }
    while database.load.exclusiveWaiting < 3 { await EventLoop.sleep(for: .milliseconds(1)) }
    #expect(await write(database, greedy).value == SQLState.shareTaken.rawValue)
    #expect(await write(database, Owner("other", "2")).value == "done")
    // A client that has disconnected makes room.
    greedy.isGone = true
    let back = Owner("network", "greedy")
    waiting.append(write(database, back))
    for task in waiting.prefix(3) { #expect(await task.value == SQLState.laneFull.rawValue) }
    gate.open()
    await held.value
    #expect(await waiting[3].value == "done")
  }

  @Test @EventLoop func `a write that waits too long for a row is aborted`() async throws {
    let database = try await database { $0.lockTimeout = .milliseconds(10) }
    defer { database.stop() }
    _ = try await database.write(Queries.make)
    _ = try await database.write(Queries.add)
    let gate = Gate()
    let holder = EventLoop.task {
      try? await database.transaction { (transaction) async throws(DatabaseError) in
        _ = try await transaction.run(Queries.lock)
        await gate.wait()
      }
    }
    var state: SQLState?
    while state == nil {
      do throws(DatabaseError) { _ = try await database.write(Queries.lock) } catch {
        state = error.state
      }
    }
    #expect(state == .lockNotAvailable)
    gate.open()
    await holder.value
    #expect(try await database.write(Queries.lock) == [1])
  }
}

@EventLoop private final class Owner: JobOwner {
  let group: Int
  let member: Int?
  var isGone = false

  init(_ group: String, _ member: String?) {
    self.group = group.hashValue
    self.member = member?.hashValue
  }
}
