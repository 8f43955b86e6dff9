internal import CSodium
package import EventLoop

/// Argon2id on threads of its own.
///
/// Each hash takes tens of milliseconds and `memory` bytes; the queue is bounded, so that a flood of
/// logins is refused rather than served late.
@EventLoop package final class PasswordHasher {
  package let pool: BlockingPool
  /// A hash of no password, to spend the same time on users that do not exist.
  private var decoy: PasswordHash?
  private var times = VerificationTimes()

  private let cost: HashingCost

  /// - Parameters:
  ///   - pool: as many threads as cores may be spent on hashing.
  ///   - cost: of new hashes; one made at another cost is made anew when its user logs in.
  package init(pool: BlockingPool, cost: HashingCost = .least) {
    precondition(sodium_init() >= 0, "libsodium cannot be initialised")
    self.pool = pool
    self.cost = cost
  }

  /// Hashes a new password, in the PHC string format.
  ///
  /// - Throws: `.overloaded` when the queue is full.
  func hash(_ password: String) async throws(Failure) -> String {
    let hash = try await run { [cost] in cost.hash(password) }
    guard let hash else { throw .unforeseen("no memory for Argon2id") }
    return hash
  }

  /// Whether `password` is the one that was hashed; with nil, or what is no hash, as long a time
  /// passes and the answer is no.
  ///
  /// Hashes of other programs take other times: a no is held back until as much time has passed as
  /// the slowest kind of hash takes that was met here, so that it does not tell one from another.
  /// - Returns: also a new hash, when the stored one is not as new ones are made.
  func verify(
    _ password: String,
    against hash: String?
  ) async throws(Failure) -> (isRight: Bool, renewed: String?) {
    let known = hash.flatMap { try? PasswordHash($0) }
    let stored = if let known { known } else { try await decoyHash() }
    let outcome = try await run { [cost] in
      let start = EventLoop.now()
      let isRight = stored.isRight(password)
      let time = EventLoop.now() - start
      let renewed = isRight && !stored.isOf(cost) ? cost.hash(password) : nil
      return (isRight: isRight, renewed: renewed, time: time)
    }
    let slowest = times.slowest(after: outcome.time, of: stored.costClass)
    guard known != nil, outcome.isRight else {
      let rest = slowest - min(slowest, outcome.time)
      if rest > 0 { await EventLoop.sleep(for: .nanoseconds(Int64(rest))) }
      return (false, nil)
    }
    return (true, outcome.renewed)
  }

  private func decoyHash() async throws(Failure) -> PasswordHash {
    if let decoy { return decoy }
    let text = try await hash("")
    guard let made = try? PasswordHash(text) else { throw .unforeseen("a hash does not read back") }
    decoy = made
    return made
  }

  private func run<Result: Sendable>(
    _ work: @escaping @Sendable () -> Result
  ) async throws(Failure) -> Result {
    do throws(BlockingPoolError) {
      return try await pool.run(work)
    } catch {
      throw .overloaded(retryAfter: 1)
    }
  }
}

/// How long hashes take to verify, by their cost.
private struct VerificationTimes {
  /// The least of each class: more was waiting.
  private var least: [String: UInt64] = [:]
  /// More classes than programs that a database was filled from.
  private static let limit = 64

  /// Takes a measurement, and tells what the slowest class takes, in nanoseconds.
  mutating func slowest(after time: UInt64, of cost: String) -> UInt64 {
    if let known = least[cost] {
      least[cost] = min(known, time)
    } else if least.count < Self.limit {
      least[cost] = time
    }
    return least.values.max() ?? 0
  }
}
