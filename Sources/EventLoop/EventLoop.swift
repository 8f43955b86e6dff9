import Glibc

/// The actor of all request state: one thread, one loop, one process.
///
/// For a type or function marked `@EventLoop`, the compiler enforces the loop's thread. So
/// handlers, connections and caches need no lock, and calls among them are plain calls. An `async`
/// function on the loop suspends by continuation. It resumes in the same or a later turn of the
/// loop.
///
/// A call of an `async` function also suspends if the task does not prefer the loop, as in tests. So
/// the body of `withUnsafeContinuation` checks whether there is still something to wait for. Between
/// an earlier check and the body, other jobs may run.
///
/// The compiler checks the isolation of a global actor with its own executor. A task executor
/// preference alone is not checked, and an actor per connection makes each call a hop. `task`
/// starts tasks and adds the preference. `NonisolatedNonsendingByDefault` stays off: with custom
/// executors it was seen to abort in the task allocator of Swift 6.3.
@globalActor
package actor EventLoop {
  package static let shared = EventLoop()

  /// The only reactor of the process.
  ///
  /// The thread that calls its `run` becomes the loop's.
  package nonisolated static let reactor = Reactor()

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe EventLoop.reactor.asUnownedSerialExecutor()
  }

  /// Runs `operation` at once, for code on the loop's thread that the compiler cannot verify.
  ///
  /// Examples are a `main` before `run` and a callback from C. A call from another thread stops the
  /// process.
  package nonisolated static func assumeIsolated<Result>(
    _ operation: @EventLoop () throws -> Result
  ) rethrows -> Result {
    reactor.checkIsolated()
    return try withoutActuallyEscaping(operation) { escapable in
      // Isolation is part of a function's type, not of its representation.
      try unsafe unsafeBitCast(escapable, to: (() throws -> Result).self)()
    }
  }

  /// Runs `body` after the jobs of this turn, before the loop waits again.
  ///
  /// So the writes of several requests of one turn to one descriptor go out together.
  @EventLoop package static func atEndOfTurn(_ body: @escaping @EventLoop () -> Void) {
    reactor.turnEnd.append(body)
  }

  /// Starts a task that never leaves the loop's thread.
  ///
  /// A continuation resumes on the generic executor, and its function then hops back to its actor.
  /// For a task that prefers the reactor, the generic executor is the reactor. For other tasks it
  /// is a thread pool, and each resumption costs two thread switches: half the speed of a read. A
  /// reactor that takes the pool's jobs needs no preference.
  @discardableResult
  package nonisolated static func task<Success: Sendable>(
    _ operation: @escaping @EventLoop @Sendable () async -> Success
  ) -> Task<Success, Never> {
    reactor.takesGlobalJobs
      ? Task(operation: operation) : Task(executorPreference: reactor, operation: operation)
  }

  /// Returns the current time of the monotonic clock in nanoseconds.
  package nonisolated static func now() -> UInt64 { nanoseconds(of: CLOCK_MONOTONIC) ?? 0 }

  /// Returns the time of a clock in nanoseconds; nil if there is no such clock.
  nonisolated static func nanoseconds(of clock: clockid_t) -> UInt64? {
    var time = timespec()
    guard unsafe clock_gettime(clock, &time) == 0 else { return nil }
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
