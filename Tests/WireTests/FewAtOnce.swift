import EventLoop
import TestSupport
import Testing

/// Limits the number of concurrent tests of the shared world.
///
/// Each request reads all apps, and each test creates some. If all tests ran at once, they would
/// mostly read the apps of each other. A few tests keep the loop busy while others wait for the
/// database.
struct FewAtOnce: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    // This runs before the suite's own set-up.
    LoopThread.start()
    try await FewAtOnce.run(function)
  }

  @EventLoop private static var taken = 0
  @EventLoop private static let lines = KeyedMutex()

  @EventLoop private static func run(_ function: @Sendable () async throws -> Void) async throws {
    taken += 1
    try await lines.inTurn(on: "\(taken % 4)") { () async throws in try await function() }
  }
}

extension Trait where Self == FewAtOnce {
  static var fewAtOnce: Self { Self() }
}
