import Testing

@testable import dossierd

/// Tests which silent workers count as stopped.
@Suite struct HeartbeatTests {
  /// Returns the check at which a worker counts as stopped; nil if it does at none.
  ///
  /// Each check has the heartbeats and the milliseconds of processor time until then.
  private func stop(_ checks: [(heartbeats: UInt64, time: UInt64)]) -> Int? {
    var silence = Silence()
    return checks.firstIndex { check in
      silence.hasStopped(at: check.heartbeats, processorTime: check.time * 1_000_000, after: 3)
    }
  }

  @Test func `a frozen worker has stopped after its time`() {
    let start: [(UInt64, UInt64)] = [(1, 10), (2, 20)]
    #expect(stop(start + Array(repeating: (2, 20), count: 20)) == 2 + 5)
  }

  @Test func `an endless turn of the loop has stopped after its time`() {
    #expect(stop((0..<20).map { (1, 500 * $0) }) == 6)
  }

  @Test func `a worker that gets little of a processor has not stopped`() {
    #expect(stop((0..<1_000).map { (1 + $0 / 40, 10 * $0) }) == nil)
  }

  @Test func `a worker that works or waits has not stopped`() {
    #expect(stop((0..<1_000).map { (1 + $0, 500 * $0) }) == nil)
    #expect(stop((0..<1_000).map { (1 + $0, 10) }) == nil)
  }

  @Test func `a worker without a heartbeat has only just started`() {
    #expect(stop((0..<1_000).map { (0, 500 * $0) }) == nil)
  }
}
