import EventLoop
import TestSupport
import Testing

@Suite struct SharedTaskTests {
  init() { LoopThread.start() }

  private struct Refused: Error {}

  @Test @EventLoop func `callers of work in progress get the same outcome`() async throws {
    let shared = SharedTask<Int, Refused>()
    var begun = 0
    func begin() -> SharedTask<Int, Refused>.Outcome {
      shared.begin { () async throws(Refused) in
        begun += 1
        await Task.yield()
        if begun == 2 { throw Refused() }
        return begun
      }
    }
    let first = (0..<3).map { _ in begin() }
    #expect(shared.isUnderWay)
    for outcome in first { #expect(try await outcome.value.get() == 1) }
    #expect(!shared.isUnderWay)
    // Neither an outcome nor a failure is kept for later callers.
    await #expect(throws: Refused.self) { try await begin().value.get() }
    #expect(try await begin().value.get() == 3)
  }
}
