/// Threads for what clients ask for, of which nobody can take all.
///
/// Work waits here, on the loop, and goes to a thread when one is free, so that until then it can be
/// dropped: when nobody waits for its result any more, and when its time is up. Who has much waiting
/// and who has little take turns.
@EventLoop package final class FairPool {
  private let pool: BlockingPool
  private let threads: Int
  private let room: Int
  /// How long the work of one request may wait, from the first that has to.
  package let patience: Duration
  private var waiting: [WaitingJob] = []
  package private(set) var running = 0
  private var accounts: [[UInt8]: Account] = [:]
  /// Grows by two with each turn that somebody has: who comes anew is before who had the last one,
  /// and behind who waits for longer.
  private var turns = 0

  /// What somebody has here now.
  private struct Account {
    /// Waiting and running.
    var jobs = 0
    var running = 0
    var turn: Int
  }

  /// - Parameters:
  ///   - name: as for `BlockingPool`.
  ///   - threads: as many as may run at once.
  ///   - waiting: jobs that may wait for a thread. Of these and the threads a group has half at
  ///     most, and a member of a group a quarter.
  ///   - patience: for whoever calls `run`.
  package nonisolated init(name: String, threads: Int, waiting: Int, patience: Duration) {
    // A thread may be told free here before it asks for more itself.
    pool = BlockingPool(name: name, threads: threads, waiting: threads)
    self.threads = threads
    room = waiting
    self.patience = patience
  }

  /// Jobs that run or wait.
  package var load: Int { running + waiting.count }

  /// Runs `work` on a thread when its turn has come.
  ///
  /// Groups take turns, and the members of each. A member, or a group without members, runs on all
  /// threads but one, so that one comes free as soon as somebody else's work ends.
  /// - Parameters:
  ///   - owner: for whom; nil for the server itself, which is limited by the room alone.
  ///   - latest: when it is too late to begin, by `EventLoop.now()`.
  ///   - work: touches nothing of the loop.
  /// - Returns: what `work` does.
  /// - Throws: then `work` has not run.
  package func run<Result: Sendable>(
    for owner: (any JobOwner)?,
    until latest: UInt64,
    _ work: @escaping @Sendable () -> Result
  ) async throws(FairPoolError) -> Result {
    let job = WaitingJob(owner)
    try admit(job)
    if isStartable(job) { start(job) } else { try await wait(job, until: latest) }
    defer { end(job) }
    do throws(BlockingPoolError) {
      return try await pool.run(work)
    } catch {
      throw .full
    }
  }

  // MARK: The room

  private func admit(_ job: WaitingJob) throws(FairPoolError) {
    guard !job.isGone else { throw .abandoned }
    if refusal(of: job) != nil { dropAbandoned() }
    if let refusal = refusal(of: job) { throw refusal }
    for key in job.keys { accounts[key, default: Account(turn: turns - 1)].jobs += 1 }
  }

  private func refusal(of job: WaitingJob) -> FairPoolError? {
    for (index, key) in job.keys.enumerated() {
      let share = max(1, (room + threads) / (index == 0 ? 2 : 4))
      if let account = accounts[key], account.jobs >= share { return .shareTaken }
    }
    return waiting.count < room || isStartable(job) ? nil : .full
  }

  private func dropAbandoned() {
    for job in waiting where job.isGone { drop(job, .abandoned) }
  }

  private func drop(_ job: WaitingJob, _ error: FairPoolError) {
    waiting.removeAll { $0 === job }
    leave(job)
    job.resume(.failure(error))
  }

  private func wait(_ job: WaitingJob, until latest: UInt64) async throws(FairPoolError) {
    waiting.append(job)
    let now = EventLoop.now()
    let timer = Timer(after: .nanoseconds(Int64(clamping: latest - min(now, latest)))) {
      [weak self] in
      guard let self, waiting.contains(where: { $0 === job }) else { return }
      drop(job, .late)
    }
    defer { timer.cancel() }
    try await job.turn()
  }

  // MARK: Turns

  private func isStartable(_ job: WaitingJob) -> Bool {
    guard running < threads else { return false }
    guard let key = job.keys.last else { return true }
    return (accounts[key]?.running ?? 0) < max(1, threads - 1)
  }

  private func start(_ job: WaitingJob) {
    running += 1
    turns += 2
    for key in job.keys {
      accounts[key]?.running += 1
      accounts[key]?.turn = turns
    }
  }

  private func end(_ job: WaitingJob) {
    running -= 1
    for key in job.keys { accounts[key]?.running -= 1 }
    leave(job)
    dropAbandoned()
    while let next = next() {
      waiting.removeAll { $0 === next }
      start(next)
      next.resume(.success(()))
    }
  }

  private func leave(_ job: WaitingJob) {
    for key in job.keys {
      accounts[key]?.jobs -= 1
      if accounts[key]?.jobs == 0 { accounts[key] = nil }
    }
  }

  /// Of those who may run, whose last turn is the longest ago; of one member's, the first that came.
  private func next() -> WaitingJob? {
    var best: WaitingJob?
    var least: [Int] = []
    for job in waiting where isStartable(job) {
      let turns = job.keys.map { accounts[$0]?.turn ?? 0 }
      if best == nil || turns.lexicographicallyPrecedes(least) { (best, least) = (job, turns) }
    }
    return best
  }
}

/// For whom a job of a `FairPool` is done.
@EventLoop package protocol JobOwner: AnyObject {
  /// Who counts together: a network, or a program.
  var group: [UInt8] { get }
  /// One of the group, under a name that no group has; nil where the group is all that is known.
  var member: [UInt8]? { get }
  /// Whether nobody waits for the result any more.
  var isGone: Bool { get }
}

package enum FairPoolError: Error {
  /// Too much waits.
  case full
  /// Too much of this group or member waits.
  case shareTaken
  /// Its turn did not come in time.
  case late
  /// Nobody waits for it any more.
  case abandoned
}

@safe @EventLoop private final class WaitingJob {
  typealias Answer = Result<Void, FairPoolError>
  private let owner: (any JobOwner)?
  /// Of the group and of the member.
  let keys: [[UInt8]]
  private var continuation: UnsafeContinuation<Answer, Never>?

  init(_ owner: (any JobOwner)?) {
    self.owner = owner
    keys = owner.map { [$0.group] + ($0.member.map { [$0] } ?? []) } ?? []
  }

  var isGone: Bool { owner?.isGone ?? false }

  func turn() async throws(FairPoolError) {
    try await unsafe withUnsafeContinuation { unsafe continuation = $0 }.get()
  }

  func resume(_ answer: Answer) {
    unsafe continuation?.resume(returning: answer)
    unsafe continuation = nil
  }
}
