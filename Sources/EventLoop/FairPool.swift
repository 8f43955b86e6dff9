/// Threads for work that clients cause, shared so that no client occupies all of them.
///
/// Work waits on the loop by the rules of `FairQueue`, and runs when a thread is free.
@EventLoop package final class FairPool {
  private let pool: BlockingPool
  private let queue: FairQueue
  /// The time that all work of one request may wait, counted from its first wait.
  package let patience: Duration

  /// Creates a pool.
  ///
  /// - Parameters:
  ///   - name: the name for `BlockingPool`.
  ///   - threads: the number of threads.
  ///   - reserve: threads that a member, or a group without members, leaves to others. Other
  ///     owners then do not wait for its work.
  ///   - waiting: the number of jobs that may wait for a thread.
  ///   - patience: the time that callers of `run` should allow.
  package init(name: String, threads: Int, reserve: Int = 1, waiting: Int, patience: Duration) {
    // The queue may lend a thread's place again just before the thread itself is free.
    pool = BlockingPool(name: name, threads: threads, waiting: threads, niceness: Self.niceness)
    let most = threads - reserve
    queue = FairQueue(
      FairLimits(
        things: threads, room: waiting, group: threads, groupWithoutMembers: most, member: most
      )
    )
    self.patience = patience
    for _ in 0..<threads { queue.add(Place()) }
  }

  /// The niceness of the threads, whose long work gives way to the loop and to PostgreSQL.
  private static let niceness: Int32 = 10

  /// A place for one job, which stands for a thread.
  private final class Place {}

  /// The number of jobs that run or wait.
  package var load: Int { queue.lent + queue.waiting }
  package var running: Int { queue.lent }

  /// Runs `work` on a thread when its turn has come.
  ///
  /// - Parameters:
  ///   - owner: the owner of the work; nil for the server itself, which only the room limits.
  ///   - latest: the latest time to begin, by `EventLoop.now()`.
  ///   - work: the work, which uses nothing of the loop.
  /// - Returns: the result of `work`.
  /// - Throws: the reason why `work` has not run.
  package func run<Result: Sendable>(
    for owner: (any JobOwner)?, until latest: UInt64, _ work: @escaping @Sendable () -> Result
  ) async throws(FairQueueError) -> Result {
    let loan = try await queue.take(for: owner, until: latest)
    defer { queue.giveBack(loan) }
    do throws(BlockingPoolError) {
      return try await pool.run(work)
    } catch {
      throw .full
    }
  }
}
