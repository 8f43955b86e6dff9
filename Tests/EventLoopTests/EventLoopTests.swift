import CLinux
import EventLoop
import Glibc
import TestSupport
import Testing

@Suite struct EventLoopTests {
  init() { LoopThread.start() }

  @Test func `twenty thousand cancelled tasks that yield all end`() async {
    let ended = await manyTasks(20_000)
    #expect(ended == 20_000)
  }

  @EventLoop func manyTasks(_ count: Int) async -> Int {
    var ended = 0
    var tasks: [Task<Void, Never>] = []
    for index in 0..<count {
      tasks.append(
        EventLoop.task {
          await Task.yield()
          if index % 7 == 0 { await EventLoop.sleep(for: .seconds(index % 14 == 0 ? 30 : 0)) }
          await Task.yield()
          ended += 1
        }
      )
      if index % 5_000 == 0 { await Task.yield() }
    }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
    return ended
  }

  @Test func `timers fire in the order of their deadlines, and canceled timers never`() async {
    let order = await timerOrder()
    #expect(order == [1, 2, 3])
  }

  @EventLoop func timerOrder() async -> [Int] {
    var order: [Int] = []
    let cancelled = Timer(after: .milliseconds(3)) { order.append(99) }
    // All are created in one turn, so none fires before the last one exists.
    let timers = [3, 1, 2].map { number in
      Timer(after: .milliseconds(number * 10)) { order.append(number) }
    }
    cancelled.cancel()
    // This timer has the latest deadline, so it ends last.
    await EventLoop.sleep(for: .milliseconds(60))
    withExtendedLifetime(timers) {}
    return order
  }

  @Test func `a task of the loop stays on its thread in nonisolated code`() async {
    let threads = await EventLoop.task {
      let own = pthread_self()
      return (own, await currentThread())
    }.value
    #expect(threads.0 == threads.1)
  }

  @Test func `work for the end of a turn runs after the jobs of the turn`() async {
    let order = await turnOrder()
    #expect(order == ["job", "job", "end"])
  }

  @EventLoop func turnOrder() async -> [String] {
    var order: [String] = []
    EventLoop.atEndOfTurn { order.append("end") }
    let jobs = (0..<2).map { _ in Task { @EventLoop in order.append("job") } }
    for job in jobs { await job.value }
    while order.count < 3 { await EventLoop.sleep(for: .milliseconds(1)) }
    return order
  }

  @Test func `a full pool refuses at once, and a free one runs work on another thread`() async {
    let outcomes = await poolOutcomes()
    #expect(outcomes == [false, false, false, false, false, false, true, true])
  }

  @EventLoop func poolOutcomes() async -> [Bool] {
    let pool = BlockingPool(name: "test", threads: 1, waiting: 1)
    let gate = ThreadGate()
    var outcomes: [Bool] = []
    let callers = (0..<8).map { _ in
      Task { @EventLoop in
        let ran = try? await pool.run {
          gate.wait()
          return true
        }
        outcomes.append(ran ?? false)
        if outcomes.count == 6 { gate.open() }
      }
    }
    for caller in callers { await caller.value }
    return outcomes
  }

  @Test func `a long turn is reported with its duration`() async {
    let (limit, told) = await longTurn()
    #expect(told.allSatisfy { $0 > limit })
    #expect(!told.isEmpty)
  }

  @EventLoop func longTurn() async -> (limit: Duration, told: [Duration]) {
    let limit = Duration.milliseconds(20)
    var told: [Duration] = []
    EventLoop.reactor.superviseTurns(longerThan: limit) { told.append($0) }
    let start = EventLoop.now()
    while EventLoop.now() - start <= limit.nanoseconds {}
    // The turn has ended once the loop has slept.
    while told.isEmpty { await EventLoop.sleep(for: .milliseconds(1)) }
    EventLoop.reactor.superviseTurns(longerThan: .seconds(1_000_000)) { _ in }
    return (limit, told)
  }

  @Test func `a watch reports readiness until it is cancelled`() async throws {
    let heard = try await pipeEvents()
    #expect(heard == ["read", "hang-up"])
  }

  @EventLoop func pipeEvents() async throws -> [String] {
    var ends: [Int32] = [0, 0]
    // Without O_CLOEXEC, a program that another test starts would keep the pipe open.
    #expect(pipe2(&ends, O_CLOEXEC) == 0)
    var heard: [String] = []
    let reader = ends[0]
    let watch = try Watch(reader, for: .read) { readiness in
      if readiness.contains(.read) {
        var byte: UInt8 = 0
        heard.append(read(reader, &byte, 1) == 1 ? "read" : "end")
      } else if !readiness.isDisjoint(with: .hangUp) {
        heard.append("hang-up")
      }
    }
    var byte: UInt8 = 1
    write(ends[1], &byte, 1)
    while heard.isEmpty { await EventLoop.sleep(for: .milliseconds(1)) }
    close(ends[1])
    while heard.last != "hang-up" { await EventLoop.sleep(for: .milliseconds(1)) }
    watch.cancel()
    let count = heard.count
    // The pipe is still at its end, which the loop would report in each turn. Once a later watch
    // reports its own pipe, the loop has polled again.
    try await hearOther()
    #expect(heard.count == count)
    close(reader)
    return [heard.first ?? "", heard.last ?? ""]
  }

  @EventLoop private func hearOther() async throws {
    var ends: [Int32] = [0, 0]
    #expect(pipe2(&ends, O_CLOEXEC) == 0)
    var turns = 0
    let watch = try Watch(ends[1], for: .write) { _ in turns += 1 }
    while turns < 3 { await EventLoop.sleep(for: .milliseconds(1)) }
    watch.cancel()
    for end in ends { close(end) }
  }
}

private nonisolated func currentThread() async -> pthread_t { pthread_self() }
