import CLinux
import Glibc
import Synchronization

/// Readiness of descriptors by epoll, timers, and the jobs of the `EventLoop` actor.
///
/// It uses epoll instead of libuv, because libpq and libfcgi own their descriptors. In libuv, each
/// would need a poll handle that is closed asynchronously before its descriptor. The pool, signals
/// and processes that libuv offers take about a page of code each here.
///
/// `@unchecked Sendable`: only the loop's thread accesses the state, as `checkIsolated` asserts.
/// The exception is `inbox`, which is accessed with `monitor` held.
package final class Reactor: SerialExecutor, TaskExecutor, @unchecked Sendable {
  private let epoll: Int32
  private let wake: Int32
  /// The loop's thread; 0 until `run`.
  private let thread = Atomic<UInt>(0)
  /// Jobs enqueued by other threads.
  private var inbox: [UnownedJob] = []
  private let monitor = Monitor()
  private let wakePending = Atomic<Bool>(false)
  /// Jobs enqueued by the loop's own thread.
  private var ready: [UnownedJob] = []
  private var running: [UnownedJob] = []
  @EventLoop var turnEnd: [@EventLoop () -> Void] = []
  @EventLoop private var turnEnding: [@EventLoop () -> Void] = []
  @EventLoop var watches: [Watch?] = []
  @EventLoop var timers = TimerHeap()
  private var stopRequested = false
  private(set) var takesGlobalJobs = false
  @EventLoop private var supervision: Supervision?

  /// The callback for event-loop turns over the limit.
  private struct Supervision {
    let limit: UInt64
    let report: @EventLoop (Duration) -> Void
  }

  init() {
    epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
    wake = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
    precondition(epoll >= 0 && wake >= 0, "no descriptors for the event loop: errno \(errno)")
    var event = unsafe epoll_event(events: EPOLLIN.rawValue, data: epoll_data_t(u64: UInt64.max))
    unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, wake, &event)
  }

  // MARK: Executor

  package func enqueue(_ job: consuming ExecutorJob) { enqueue(unowned: UnownedJob(job)) }

  /// Also takes the jobs of the global executor, so that tasks need no executor preference.
  ///
  /// The runtime looks up a preference, with a lock, whenever an `async` function is entered or
  /// left. That is a tenth of a request. Call this before the first task, in a program with one
  /// loop. Tests do not call it: their own tasks keep running elsewhere.
  package func takeGlobalJobs() {
    takesGlobalJobs = true
    CLinux_take_global_jobs()
  }

  fileprivate func enqueue(unowned job: UnownedJob) {
    if isOnLoop {
      ready.append(job)
    } else {
      monitor.withLock { inbox.append(job) }
      if !wakePending.exchange(true, ordering: .acquiringAndReleasing) {
        var one: UInt64 = 1
        _ = unsafe write(wake, &one, 8)
      }
    }
  }

  package func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  package func asUnownedTaskExecutor() -> UnownedTaskExecutor {
    unsafe UnownedTaskExecutor(ordinary: self)
  }

  package func checkIsolated() {
    precondition(isOnLoop, "called off the event loop's thread")
  }

  package func isIsolatingCurrentContext() -> Bool? { isOnLoop }

  private var isOnLoop: Bool {
    thread.load(ordering: .relaxed) == UInt(pthread_self())
  }

  // MARK: The loop

  /// Makes the calling thread the loop's and runs until `stop`.
  ///
  /// A process calls it once.
  package func run() {
    let (first, _) = thread.compareExchange(
      expected: 0, desired: UInt(pthread_self()), ordering: .sequentiallyConsistent
    )
    precondition(first, "the event loop runs already")
    EventLoop.assumeIsolated { turns() }
  }

  /// Runs the loop, with `body` as its first job.
  package func start(_ body: @escaping @EventLoop @Sendable () -> Void) {
    EventLoop.task { body() }
    run()
  }

  /// Ends `run` after the current turn.
  @EventLoop package func stop() { stopRequested = true }

  /// Reports each turn that holds the loop longer than `limit`, and so delays all other work.
  ///
  /// It measures clock time, so a blocking call counts like a computation.
  @EventLoop package func superviseTurns(
    longerThan limit: Duration, _ report: @escaping @EventLoop (Duration) -> Void
  ) {
    supervision = Supervision(limit: limit.nanoseconds, report: report)
  }

  @EventLoop private func endTurn(begunAt start: UInt64) {
    guard let supervision else { return }
    let time = EventLoop.now() - start
    if time > supervision.limit { supervision.report(.nanoseconds(Int64(clamping: time))) }
  }

  @EventLoop private func turns() {
    let capacity = 256
    let events = UnsafeMutableBufferPointer<epoll_event>.allocate(capacity: capacity)
    defer { unsafe events.deallocate() }
    var start = EventLoop.now()
    while !stopRequested {
      runJobs()
      endTurn(begunAt: start)
      let count = unsafe epoll_wait(
        epoll, events.baseAddress, Int32(capacity), timers.wait(from: EventLoop.now())
      )
      start = EventLoop.now()
      for index in 0..<max(0, Int(count)) {
        let (token, readiness) = unsafe (events[index].data.u64, events[index].events)
        dispatch(token: token, Readiness(rawValue: readiness))
      }
      for timer in timers.due(at: EventLoop.now()) { timer.fire() }
    }
  }

  /// Runs jobs and the callbacks for the end of the turn, until neither is left.
  @EventLoop private func runJobs() {
    while true {
      if wakePending.load(ordering: .acquiring) { takeInbox() }
      if ready.isEmpty {
        guard !turnEnd.isEmpty else { return }
        swap(&turnEnding, &turnEnd)
        for body in turnEnding { body() }
        turnEnding.removeAll(keepingCapacity: true)
      } else {
        swap(&running, &ready)
        for job in running {
          if takesGlobalJobs {
            unsafe job.runSynchronously(on: asUnownedSerialExecutor())
          } else {
            unsafe job.runSynchronously(
              isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor()
            )
          }
        }
        running.removeAll(keepingCapacity: true)
      }
    }
  }

  @EventLoop private func takeInbox() {
    var count: UInt64 = 0
    _ = unsafe read(wake, &count, 8)
    wakePending.store(false, ordering: .releasing)
    monitor.withLock {
      ready.append(contentsOf: inbox)
      inbox.removeAll(keepingCapacity: true)
    }
  }

  // MARK: Descriptors

  @EventLoop private func dispatch(token: UInt64, _ readiness: Readiness) {
    guard token != UInt64.max else { return takeInbox() }
    let descriptor = Int(token & 0xffff_ffff)
    // A watch cancelled or replaced earlier in this batch of events must not be called.
    guard descriptor < watches.count, let watch = watches[descriptor],
      watch.generation == UInt32(token >> 32)
    else { return }
    watch.body(readiness)
  }

  @EventLoop func add(_ watch: Watch) throws(EventLoopError) {
    let index = Int(watch.descriptor)
    while watches.count <= index { watches.append(nil) }
    precondition(watches[index] == nil, "descriptor \(index) is watched already")
    try control(EPOLL_CTL_ADD, watch)
    watches[index] = watch
  }

  @EventLoop func modify(_ watch: Watch) throws(EventLoopError) {
    try control(EPOLL_CTL_MOD, watch)
  }

  @EventLoop func remove(_ watch: Watch) {
    let index = Int(watch.descriptor)
    guard index < watches.count, watches[index] === watch else { return }
    watches[index] = nil
    // If the owner has closed the descriptor, the kernel has already removed it.
    try? control(EPOLL_CTL_DEL, watch)
  }

  @EventLoop private func control(_ operation: Int32, _ watch: Watch) throws(EventLoopError) {
    let token = UInt64(watch.generation) << 32 | UInt64(UInt32(watch.descriptor))
    var event = unsafe epoll_event(events: watch.interest.rawValue, data: epoll_data_t(u64: token))
    guard unsafe epoll_ctl(epoll, operation, watch.descriptor, &event) == 0 else {
      throw EventLoopError(call: "epoll_ctl", code: errno)
    }
  }
}

/// Enqueues a job; `swift_task_enqueueGlobal_hook` calls it through `CLinux` with a job pointer.
@_cdecl("EventLoop_take_global_job")
private func takeGlobalJob(_ job: UnsafeMutableRawPointer) {
  unsafe EventLoop.reactor.enqueue(unowned: unsafeBitCast(job, to: UnownedJob.self))
}
