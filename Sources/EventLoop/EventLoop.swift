import Glibc

/// The domain of everything a request touches: one thread, one loop, one process.
///
/// Mark a type or function `@EventLoop` and the compiler keeps it on the loop's thread: handlers,
/// connections and caches need no lock, and calls among them are plain calls. An `async` function
/// on the loop suspends by continuation and is resumed in the same or a later turn of the loop.
///
/// A global actor with an executor of its own was taken over two other ways: task executor
/// preference gives no isolation the compiler can check, and an actor per connection makes a hop
/// of every call. `NonisolatedNonsendingByDefault` stays off: with custom executors it was seen to
/// abort in the task allocator of Swift 6.3.
@globalActor
package actor EventLoop {
  package static let shared = EventLoop()

  /// The one reactor of the process; its `run` decides which thread is the loop's.
  package nonisolated static let reactor = Reactor()

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe EventLoop.reactor.asUnownedSerialExecutor()
  }

  /// Runs `operation` at once, for code that is on the loop's thread though the compiler cannot
  /// know it (a `main` before `run`, a callback from C).
  ///
  /// Stops the process when called from another thread.
  package nonisolated static func assumeIsolated<Result>(
    _ operation: @EventLoop () throws -> Result
  ) rethrows -> Result {
    reactor.checkIsolated()
    return try withoutActuallyEscaping(operation) { escapable in
      // The isolation is part of a function's type and not of its representation.
      try unsafe unsafeBitCast(escapable, to: (() throws -> Result).self)()
    }
  }

  /// Runs `body` when the jobs of this turn are done and before the loop waits again.
  ///
  /// What several requests of one turn want written to one descriptor goes out together this way.
  @EventLoop package static func atEndOfTurn(_ body: @escaping @EventLoop () -> Void) {
    reactor.turnEnd.append(body)
  }

  /// Lets everything else that is ready run first.
  @EventLoop package static func yield() async {
    await Task.yield()
  }

  /// Nanoseconds of the monotonic clock, read anew.
  package nonisolated static func now() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
