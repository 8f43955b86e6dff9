import EventLoop
import Glibc
import Postgres
import TestSupport
import Testing

/// Tests servers that stop responding.
@Suite struct SilenceTests {
  init() { LoopThread.start() }

  private enum Queries {
    static let backend = Statement<Int>("test.silence_backend", "select pg_backend_pid()")
    static let echo = Statement<String, String>("test.silence_echo", "select $1::text")
  }

  /// Only the read connection has a short time-out.
  ///
  /// The others, and their queues, have minutes.
  @Test @EventLoop func `a silent read connection ends the work of all connections`() async throws {
    var settings = DatabaseSettings.patient(try await TestCluster.shared.createDatabase())
    settings.readTimeout = .milliseconds(100)
    settings.grace = .milliseconds(100)
    settings.suspicion = .milliseconds(100)
    settings.writeConnections = 1
    let database = Database(settings)
    database.start()
    defer { database.stop() }
    while !database.isReady { await EventLoop.sleep(for: .milliseconds(1)) }
    var states: [SQLState?]
    // On a slow machine, a connection is replaced before the stop, and a write succeeds.
    repeat { states = await statesOfWrites(on: database) } while states.contains(nil)
    #expect(states == [.connectionFailure, .connectionFailure])
    let answer = await retrying { () async throws(DatabaseError) in
      try await database.write(Queries.echo, "again")
    }
    #expect(answer == ["again"])
  }

  /// Stops the servers of both connections, and returns the results of two writes.
  ///
  /// One write is under way, and the other waits for its connection. No read is under way.
  @EventLoop private func statesOfWrites(on database: Database) async -> [SQLState?] {
    let reader = await retrying { () async throws(DatabaseError) in
      try await database.read(Queries.backend)[0]
    }
    let writer = await retrying { () async throws(DatabaseError) in
      try await database.write(Queries.backend)[0]
    }
    let backends = [pid_t(reader), pid_t(writer)]
    for backend in backends { kill(backend, SIGSTOP) }
    // One process may hold a lock that the server needs.
    defer { for backend in backends { kill(backend, SIGCONT) } }
    let writes = (0..<2).map { _ in
      EventLoop.task { () -> SQLState? in
        do throws(DatabaseError) {
          _ = try await database.write(Queries.echo, "x")
          return nil
        } catch {
          return error.state
        }
      }
    }
    var states: [SQLState?] = []
    for write in writes { states.append(await write.value) }
    return states
  }

  @EventLoop private func retrying<Value>(
    _ body: @EventLoop () async throws(DatabaseError) -> Value
  ) async -> Value {
    while true {
      do throws(DatabaseError) { return try await body() } catch {
        await EventLoop.sleep(for: .milliseconds(5))
      }
    }
  }
}
