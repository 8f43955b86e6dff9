import CLinux
import Glibc

/// Threads for work that would hold up the loop: hashing, images, large bodies.
///
/// The queue is bounded, so that what cannot be done soon is refused at once.
package final class BlockingPool: Sendable {
  private let queue: BlockingQueue

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - name: of at most 15 bytes; debuggers and `top -H` show it.
  ///   - threads: as many as may run at once.
  ///   - waiting: jobs that may wait for a thread; one more is refused.
  ///   - niceness: how far its threads give way to the loop where processors are short.
  package init(name: String, threads: Int, waiting: Int, niceness: Int32 = 0) {
    queue = BlockingQueue(capacity: threads + waiting, niceness: niceness)
    for _ in 0..<threads { queue.startThread(named: name) }
  }

  /// Jobs that run or wait.
  package var load: Int { queue.load }

  /// Runs `work` on a thread of the pool.
  ///
  /// - Throws: `BlockingPoolError.full` when the queue is; `work` has then not run.
  @EventLoop package func run<Result: Sendable>(
    _ work: @escaping @Sendable () -> Result
  ) async throws(BlockingPoolError) -> Result {
    let outcome: Result? = await unsafe withUnsafeContinuation { continuation in
      let accepted = queue.append { unsafe continuation.resume(returning: work()) }
      if !accepted { unsafe continuation.resume(returning: nil) }
    }
    guard let outcome else { throw .full }
    return outcome
  }
}

package enum BlockingPoolError: Error { case full }

/// The queue between the loop and the threads.
///
/// `@unchecked Sendable`: `jobs` and `running` are touched with the monitor held.
private final class BlockingQueue: @unchecked Sendable {
  private let monitor = Monitor()
  private var jobs: [@Sendable () -> Void] = []
  private var running = 0
  private let capacity: Int
  private let niceness: Int32

  init(capacity: Int, niceness: Int32) {
    self.capacity = capacity
    self.niceness = niceness
  }

  var load: Int { monitor.withLock { jobs.count + running } }

  func append(_ job: @escaping @Sendable () -> Void) -> Bool {
    monitor.withLock {
      guard jobs.count + running < capacity else { return false }
      jobs.append(job)
      monitor.signal()
      return true
    }
  }

  /// A pool lives as long as its process, so its threads are never joined.
  func startThread(named name: String) {
    var attributes = pthread_attr_t()
    unsafe pthread_attr_init(&attributes)
    unsafe pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    defer { unsafe pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let box = unsafe Unmanaged.passRetained(self)
    let code = unsafe pthread_create(
      &thread,
      &attributes,
      { argument in
        guard let argument = unsafe argument else { return nil }
        let queue = unsafe Unmanaged<BlockingQueue>.fromOpaque(argument).takeRetainedValue()
        queue.work()
      },
      box.toOpaque()
    )
    precondition(code == 0, "no thread for \(name): \(systemMessage(code))")
    unsafe CLinux_name_thread(thread, name)
  }

  private func work() -> Never {
    // On Linux each thread has a priority of its own. Where that is refused, it keeps the usual one.
    if niceness > 0 { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness) }
    while true {
      let job = monitor.withLock {
        while jobs.isEmpty { monitor.wait() }
        running += 1
        return jobs.removeFirst()
      }
      job()
      monitor.withLock { running -= 1 }
    }
  }
}
