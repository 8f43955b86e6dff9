internal import EventLoop

/// Stops the calls to a receiver that fails, until a pause is over.
///
/// Each failure after a pause doubles the next one. A success ends all of that.
package struct CircuitBreaker: Sendable {
  /// The successive failures that open it.
  private let threshold: Int
  private let pauses: ClosedRange<Duration>
  private var failures = 0
  private var pauseEnds: UInt64 = 0

  /// Creates a closed one.
  ///
  /// - Parameters:
  ///   - threshold: the successive failures that open it.
  ///   - pauses: the first pause and the longest.
  package init(after threshold: Int, pauses: ClosedRange<Duration>) {
    (self.threshold, self.pauses) = (threshold, pauses)
  }

  /// Whether the receiver may be called without restraint.
  ///
  /// If it is neither closed nor in a pause, call it once and wait for the result.
  package var isClosed: Bool { failures < threshold }

  /// Returns the rest of the pause; zero if the receiver may be called.
  package func rest(at now: UInt64 = EventLoop.now()) -> Duration {
    .nanoseconds(Int64(clamping: pauseEnds - min(pauseEnds, now)))
  }

  package mutating func succeed() { (failures, pauseEnds) = (0, 0) }

  /// Counts a failure, unless it is of a call that began before the present pause.
  package mutating func fail(at now: UInt64 = EventLoop.now()) {
    guard now >= pauseEnds else { return }
    failures = min(failures + 1, threshold + 62)
    guard !isClosed else { return }
    let length = pauses.lowerBound.nanoseconds.multipliedReportingOverflow(
      by: 1 << UInt64(failures - threshold)
    )
    let longest = pauses.upperBound.nanoseconds
    pauseEnds = now &+ (length.overflow ? longest : min(length.partialValue, longest))
  }
}

/// Stops the calls to a receiver that fails for several callers in a row, until a pause is over.
///
/// A caller can make some receivers fail by the content of its call, and would open a
/// `CircuitBreaker` alone. So the failures of one caller count once here. After a pause, several have
/// to meet a failure again. A success ends all of that.
package struct CallerCircuitBreaker: Sendable {
  /// The callers whose failures open it.
  private let threshold: Int
  private var breaker: CircuitBreaker
  private var callers: Set<[UInt8]> = []

  /// Creates a closed one.
  ///
  /// - Parameters:
  ///   - threshold: the number of callers whose failures open it.
  ///   - pause: how long it then stays open.
  package init(after threshold: Int, pause: Duration) {
    (self.threshold, breaker) = (threshold, CircuitBreaker(after: 1, pauses: pause...pause))
  }

  /// Returns the rest of the pause; zero if the receiver may be called.
  package func rest(at now: UInt64 = EventLoop.now()) -> Duration { breaker.rest(at: now) }

  package mutating func succeed() {
    callers = []
    breaker.succeed()
  }

  /// Counts the failure of a caller, unless its call began before the present pause.
  ///
  /// - Parameters:
  ///   - caller: the bytes that identify the caller, such as its network.
  ///   - now: the time of the monotonic clock.
  package mutating func fail(for caller: [UInt8], at now: UInt64 = EventLoop.now()) {
    guard rest(at: now) == .zero else { return }
    callers.insert(caller)
    guard callers.count >= threshold else { return }
    callers = []
    breaker.fail(at: now)
  }
}
