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

/// Timers by deadline: a binary heap in which cancelled ones stay until they come up.
@EventLoop struct TimerHeap {
  private var heap: [Timer] = []

  nonisolated init() {}

  mutating func insert(_ timer: Timer) {
    heap.append(timer)
    var child = heap.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard heap[child].deadline < heap[parent].deadline else { break }
      heap.swapAt(child, parent)
      child = parent
    }
  }

  /// Milliseconds until the first deadline, rounded up; -1 when there is none.
  mutating func wait(from now: UInt64) -> Int32 {
    while let first = heap.first, first.isCancelled { removeFirst() }
    guard let first = heap.first else { return -1 }
    guard first.deadline > now else { return 0 }
    return Int32(clamping: (first.deadline - now + 999_999) / 1_000_000)
  }

  /// Takes out all whose deadline has come, in order.
  mutating func due(at now: UInt64) -> [Timer] {
    var due: [Timer] = []
    while let first = heap.first, first.deadline <= now {
      due.append(first)
      removeFirst()
    }
    return due
  }

  private mutating func removeFirst() {
    heap.swapAt(0, heap.count - 1)
    heap.removeLast()
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
        if heap[child].deadline < heap[least].deadline { least = child }
      }
      guard least != parent else { return }
      heap.swapAt(parent, least)
      parent = least
    }
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
