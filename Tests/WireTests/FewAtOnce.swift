import EventLoop
import TestSupport
import Testing

/// Lets few tests of the shared world run at once.
///
/// Each request of theirs reads all the apps that there are, and each test makes some of its own: all
/// at once, they would do little but read each other's. A few are enough to keep the loop busy while
/// some wait for the database.
struct FewAtOnce: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test,
    testCase: Test.Case?,
    performing function: @Sendable () async throws -> Void
  ) async throws {
    // This comes before what the suite starts itself.
    LoopThread.start()
    try await FewAtOnce.run(function)
  }

  @EventLoop private static var taken = 0
  @EventLoop private static let lines = Turns()

  @EventLoop private static func run(
    _ function: @Sendable () async throws -> Void
  ) async throws {
    taken += 1
    try await lines.inTurn(on: "\(taken % 4)") { () async throws in try await function() }
  }
}

extension Trait where Self == FewAtOnce {
  static var fewAtOnce: Self { Self() }
}
