/// Threads for what clients ask for, of which nobody can take all.
///
/// Work waits on the loop, by the rules of `FairQueue`, and goes to a thread when one is free.
@EventLoop package final class FairPool {
  private let pool: BlockingPool
  private let queue: FairQueue
  /// How long the work of one request may wait, from the first that has to.
  package let patience: Duration

  /// - Parameters:
  ///   - name: as for `BlockingPool`.
  ///   - threads: as many as may run at once.
  ///   - reserve: threads on which no member runs, and no group without members, so that one comes
  ///     free as soon as somebody else's work ends.
  ///   - waiting: jobs that may wait for a thread.
  ///   - patience: for whoever calls `run`.
  package init(
    name: String,
    threads: Int,
    reserve: Int = 1,
    waiting: Int,
    patience: Duration
  ) {
    // A thread may be told free here before it asks for more itself.
    pool = BlockingPool(name: name, threads: threads, waiting: threads, niceness: Self.niceness)
    let most = threads - reserve
    queue = FairQueue(
      FairLimits(
        things: threads,
        room: waiting,
        group: threads,
        groupWithoutMembers: most,
        member: most
      )
    )
    self.patience = patience
    for _ in 0..<threads { queue.add(Place()) }
  }

  /// What is long gives way to what is short: a worker's loop, and PostgreSQL beside it.
  private static let niceness: Int32 = 10

  /// Stands for a thread.
  private final class Place {}

  /// Jobs that run or wait.
  package var load: Int { queue.lent + queue.waiting }
  package var running: Int { queue.lent }

  /// Runs `work` on a thread when its turn has come.
  ///
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
