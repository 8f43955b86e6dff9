import EventLoop
import TestSupport
import Testing

@Suite struct TurnsTests {
  init() { LoopThread.start() }

  private struct Refusal: Error {}

  @Test @EventLoop func `work with one key runs in order, concurrently with other keys`()
    async throws
  {
    let turns = KeyedMutex()
    var (events, underWay) = ([String](), 0)
    var tasks: [Task<Void, Never>] = []
    for number in 0..<4 {
      tasks.append(
        EventLoop.task {
          do throws(Refusal) {
            try await turns.inTurn(on: "a") { () async throws(Refusal) in
              underWay += 1
              for _ in 0..<3 { await EventLoop.sleep(for: .milliseconds(1)) }
              #expect(underWay == 1)
              underWay -= 1
              events.append("a\(number)")
              // A failure passes the turn on too.
              if number == 1 { throw Refusal() }
            }
          } catch {
            events.append("refused")
          }
        }
      )
    }
    tasks.append(EventLoop.task { await turns.inTurn(on: "b") { events.append("b") } })
    for task in tasks { await task.value }
    #expect(events == ["b", "a0", "a1", "refused", "a2", "a3"])
    await turns.inTurn(on: "a") { events.append("again") }
    #expect(events.last == "again")
  }
}
