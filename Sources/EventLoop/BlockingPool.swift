import CLinux
import Glibc

/// Threads for work that would block the loop: hashing, images, large bodies.
///
/// The queue is bounded, so that excess work is refused at once.
package final class BlockingPool: Sendable {
  private let queue: BlockingQueue

  /// Starts the threads.
  ///
  /// - Parameters:
  ///   - name: the thread name in debuggers and `top -H`, of at most 15 bytes.
  ///   - threads: the number of threads.
  ///   - waiting: the number of jobs that may wait for a thread; one more is refused.
  ///   - niceness: the niceness of the threads, which lets the loop run first.
  package init(name: String, threads: Int, waiting: Int, niceness: Int32 = 0) {
    queue = BlockingQueue(capacity: threads + waiting, niceness: niceness)
    for _ in 0..<threads { queue.startThread(named: name) }
  }

  /// The number of jobs that run or wait.
  package var load: Int { queue.load }

  /// Runs `work` on a thread of the pool.
  ///
  /// - Throws: `BlockingPoolError.full` if the queue is full; then `work` has not run.
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
/// `@unchecked Sendable`: `jobs` and `running` are accessed only with the monitor held.
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

  /// Starts a thread that is never joined, since a pool lives as long as its process.
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
    // On Linux each thread has its own niceness. If the system refuses it, the default remains.
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
