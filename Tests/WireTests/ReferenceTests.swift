import Configuration
import EventLoop
import Runtime
import TestSupport
import Testing

@testable import RESTWire
@testable import Reference
import Records

@Suite struct ReferenceTests {
  private let subject = ReferenceResource.subject(RecordShape.all)

  init() { LoopThread.start() }

  @Test @EventLoop func `other work runs while a worker makes the reference`() async {
    let other = EventLoop.task {
      var turns = 0
      while !Task.isCancelled {
        turns += 1
        await EventLoop.sleep(for: .zero)
      }
      return turns
    }
    _ = await Reference.made(for: .all, subject)
    other.cancel()
    #expect(await other.value > RESTWire.chapters.count / 2)
  }

  @Test @EventLoop func `requests at the same time share one reference`() async {
    let tasks = (0..<3).map { _ in
      EventLoop.task { await Reference.shared(for: .users, subject) }
    }
    let first = await tasks[0].value
    for task in tasks { #expect(await task.value === first) }
  }
}
