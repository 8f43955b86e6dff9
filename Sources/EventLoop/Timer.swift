import HeapModule

/// Something the loop does once, later.
@EventLoop package final class Timer {
  let deadline: UInt64
  private var body: (@EventLoop () -> Void)?

  /// Schedules `body`; it runs in the first turn that starts after `delay`, with a resolution of a
  /// millisecond.
  package init(after delay: Duration, _ body: @escaping @EventLoop () -> Void) {
    deadline = EventLoop.now() &+ delay.nanoseconds
    self.body = body
    EventLoop.reactor.timers.insert(self)
  }

  var isCancelled: Bool { body == nil }

  /// Forgets it; after it has run this does nothing.
  package func cancel() { body = nil }

  func fire() {
    let body = body
    self.body = nil
    body?()
  }
}

extension EventLoop {
  /// Suspends the caller for `delay`; returns early when its task is cancelled.
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
    guard !woken else { return }
    await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
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

/// Timers by deadline; cancelled ones stay until they come up.
@EventLoop struct TimerHeap {
  private var heap = Heap<Entry>()

  /// The deadline lies beside the timer, where comparing follows no reference.
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

  /// Milliseconds until the first deadline, rounded up; -1 when there is none.
  mutating func wait(from now: UInt64) -> Int32 {
    while let first = heap.min, first.timer.isCancelled { heap.removeMin() }
    guard let first = heap.min else { return -1 }
    guard first.deadline > now else { return 0 }
    return Int32(clamping: (first.deadline - now + 999_999) / 1_000_000)
  }

  /// Takes out all whose deadline has come, in order.
  mutating func due(at now: UInt64) -> [Timer] {
    var due: [Timer] = []
    while let first = heap.min, first.deadline <= now { due.append(heap.removeMin().timer) }
    return due
  }
}

extension Duration {
  /// Whole nanoseconds; negative durations count as none.
  package var nanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    guard seconds >= 0, attoseconds >= 0 else { return 0 }
    return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
  }

  /// Whole seconds, rounded up: who waits for so many does not come too early.
  package var wholeSeconds: Int { Int(components.seconds) + (components.attoseconds > 0 ? 1 : 0) }
}
