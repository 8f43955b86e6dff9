import HeapModule

/// A callback that the loop runs once, later.
@EventLoop package final class Timer {
  let deadline: UInt64
  private var body: (@EventLoop () -> Void)?

  /// Schedules `body` for the first turn that starts after `delay`.
  ///
  /// The resolution is one millisecond.
  package init(after delay: Duration, _ body: @escaping @EventLoop () -> Void) {
    deadline = EventLoop.now() &+ delay.nanoseconds
    self.body = body
    EventLoop.reactor.timers.insert(self)
  }

  var isCancelled: Bool { body == nil }

  /// Cancels the timer; does nothing after it has run.
  package func cancel() { body = nil }

  func fire() {
    let body = body
    self.body = nil
    body?()
  }
}

extension EventLoop {
  /// Suspends the caller for `delay`; returns early if its task is cancelled.
  @EventLoop package static func sleep(for delay: Duration) async {
    let sleeper = Sleeper()
    await withTaskCancellationHandler {
      await sleeper.sleep(for: delay)
    } onCancel: {
      EventLoop.task { sleeper.wake() }
    }
  }
}

@safe @EventLoop private final class Sleeper {
  private var continuation: UnsafeContinuation<Void, Never>?
  private var timer: Timer?
  private var woken = false

  func sleep(for delay: Duration) async {
    await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
      guard !woken else { return unsafe continuation.resume() }
      unsafe self.continuation = continuation
      timer = Timer(after: delay) { self.wake() }
    }
  }

  func wake() {
    woken = true
    timer?.cancel()
    unsafe continuation?.resume()
    unsafe continuation = nil
  }
}

/// Timers by deadline.
///
/// Cancelled ones stay until they reach the top.
@EventLoop struct TimerHeap {
  private var heap = Heap<Entry>()

  /// A heap entry that holds the deadline itself, so that a comparison follows no reference.
  private struct Entry: Comparable {
    let deadline: UInt64
    let timer: Timer

    static func < (first: Entry, second: Entry) -> Bool { first.deadline < second.deadline }
    static func == (first: Entry, second: Entry) -> Bool { first.deadline == second.deadline }
  }

  nonisolated init() {}

  mutating func insert(_ timer: Timer) {
    heap.insert(Entry(deadline: timer.deadline, timer: timer))
  }

  /// Returns the milliseconds until the first deadline, rounded up; -1 without timers.
  mutating func wait(from now: UInt64) -> Int32 {
    while let first = heap.min, first.timer.isCancelled { heap.removeMin() }
    guard let first = heap.min else { return -1 }
    guard first.deadline > now else { return 0 }
    return Int32(clamping: (first.deadline - now + 999_999) / 1_000_000)
  }

  /// Removes and returns all due timers, in order.
  mutating func due(at now: UInt64) -> [Timer] {
    var due: [Timer] = []
    while let first = heap.min, first.deadline <= now { due.append(heap.removeMin().timer) }
    return due
  }
}

extension Duration {
  /// The duration in whole nanoseconds; 0 if it is negative.
  package var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }

  /// Whole seconds, rounded up, so that a client which waits for them does not return too early.
  package var wholeSeconds: Int { Int(components.seconds) + (components.attoseconds > 0 ? 1 : 0) }
}
