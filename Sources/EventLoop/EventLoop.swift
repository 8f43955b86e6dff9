import Glibc

/// The domain of everything a request touches: one thread, one loop, one process.
///
/// Mark a type or function `@EventLoop` and the compiler keeps it on the loop's thread: handlers,
/// connections and caches need no lock, and calls among them are plain calls. An `async` function
/// on the loop suspends by continuation and is resumed in the same or a later turn of the loop.
///
/// A global actor with an executor of its own gives isolation that the compiler checks, which a
/// task executor preference alone does not, and an actor per connection makes a hop of every call.
/// Tasks are started with `task`, which adds the preference. `NonisolatedNonsendingByDefault` stays
/// off: with custom executors it was seen to abort in the task allocator of Swift 6.3.
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

  /// Starts a task that never leaves the loop's thread.
  ///
  /// A continuation resumes on the generic executor, from which its function hops back to its
  /// actor. Of a task that prefers the reactor the generic executor is the reactor; of another it is
  /// a pool of threads, and each resumption costs two changes of thread: half the speed of a read.
  /// Where the reactor takes the pool's jobs, it needs no preference.
  @discardableResult
  package nonisolated static func task<Success: Sendable>(
    _ operation: @escaping @EventLoop @Sendable () async -> Success
  ) -> Task<Success, Never> {
    reactor.takesGlobalJobs
      ? Task(operation: operation) : Task(executorPreference: reactor, operation: operation)
  }

  /// Nanoseconds of the monotonic clock, read anew.
  package nonisolated static func now() -> UInt64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}
