import EventLoop
import TestSupport
import Testing

/// Tests that no turn is lost if it arrives before its caller waits.
///
/// The callers are tasks that do not prefer the loop. A call of an `async` function suspends such a
/// task even on the loop. So other jobs run between the call and the first line of the function.
@Suite struct HandoverTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `every caller of a queue is served`() async {
    let queue = FairQueue(
      FairLimits(things: 1, room: 1_000, group: 1, groupWithoutMembers: 1, member: 1)
    )
    let crowd = Crowd()
    queue.add(crowd)
    crowd.start {
      guard let loan = try? await queue.take(for: nil, until: .max) else { return }
      queue.giveBack(loan)
    }
    #expect(await crowd.remainder() == 0)
  }

  @Test @EventLoop func `every caller of a mutex gets its turn`() async {
    let mutex = KeyedMutex()
    let crowd = Crowd()
    crowd.start { await mutex.inTurn(on: "thing") {} }
    #expect(await crowd.remainder() == 0)
  }

  @Test @EventLoop func `every sleeper that is cancelled wakes at once`() async {
    let crowd = Crowd()
    crowd.start {
      let sleeper = Task { @EventLoop in await EventLoop.sleep(for: .seconds(86_400)) }
      await Task.yield()
      sleeper.cancel()
      await sleeper.value
    }
    #expect(await crowd.remainder() == 0)
  }
}

/// Tasks that do not prefer the loop.
@EventLoop private final class Crowd {
  private var left = 0

  /// Starts tasks that each repeat some work.
  func start(_ work: @escaping @EventLoop @Sendable () async -> Void) {
    for index in 0..<100 {
      left += 1
      Task { @EventLoop in
        for _ in 0...index % 10 { await work() }
        left -= 1
      }
    }
  }

  /// Waits for the tasks, and returns the number of tasks that have not ended.
  ///
  /// The limit only prevents a hang.
  func remainder() async -> Int {
    for _ in 0..<60_000 where left > 0 { await EventLoop.sleep(for: .milliseconds(1)) }
    return left
  }
}
