internal import CSodium
package import EventLoop

/// Argon2id on threads of its own.
///
/// Each hash takes tens of milliseconds and `memory` bytes. Networks and users take turns, so a
/// flood of logins from one of them does not delay the others. The server refuses the excess logins
/// rather than serve them late.
@EventLoop package final class PasswordHasher {
  package let pool: FairPool
  /// The number of hashes so far; a request adds the same number for any address.
  package private(set) var hashes = 0
  private var times = VerificationTimes()

  private let cost: HashingCost

  /// - Parameters:
  ///   - pool: as many threads as cores may be spent on hashing.
  ///   - cost: of new hashes; one made at another cost is made anew when its user logs in.
  package init(pool: FairPool, cost: HashingCost = .least) {
    precondition(sodium_init() >= 0, "libsodium cannot be initialised")
    self.pool = pool
    self.cost = cost
  }

  /// Hashes a new password, in the PHC string format.
  ///
  /// - Throws: `.overloaded` when the queue is full, `.tooManyAtOnce` when its owner's share is.
  func hash(
    _ password: String,
    _ salt: PasswordSalt,
    for owner: (any JobOwner)?
  ) async throws(Failure) -> String {
    hashes += 1
    let hash = try await run(for: owner) { [cost] in cost.hash(password, salt) }
    guard let hash else { throw .unforeseen("no memory for Argon2id") }
    return hash
  }

  /// Whether `password` is the one that was hashed; nil for a user without one.
  ///
  /// For who is known already: the time tells whether there is a hash.
  /// - Throws: as `hash`.
  func verify(
    _ password: String,
    against hash: String?,
    for owner: (any JobOwner)?
  ) async throws(Failure) -> Bool {
    guard let stored = hash.flatMap({ try? PasswordHash($0) }) else { return false }
    hashes += 1
    return try await run(for: owner) { stored.isRight(password) }
  }

  /// Finds the first of several hashes that is of `password`, which is hashed once whether there are
  /// many, one or none.
  ///
  /// Hashes that were not made by the recipe of new ones (of other programs, of another cost) are
  /// computed besides, each kind of them once. A no is held back until as much time has passed as
  /// the slowest of those takes that was met here, so that it does not tell them from none.
  /// - Parameters:
  ///   - password: as somebody typed it.
  ///   - salt: of new hashes.
  ///   - stored: what is no hash is nobody's.
  ///   - owner: for whom; nil for the server itself.
  /// - Returns: which, and the hash by the recipe of new ones.
  /// - Throws: as `hash`.
  func match(
    _ password: String,
    _ salt: PasswordSalt,
    among stored: [String],
    for owner: (any JobOwner)?
  ) async throws(Failure) -> PasswordMatch {
    let comparison = PasswordComparison(PasswordRecipe(cost, salt), stored)
    guard let match = try await run(for: owner, { comparison.run(password) }) else {
      throw .unforeseen("no memory for Argon2id")
    }
    hashes += 1 + match.foreign.count
    let spent = match.foreign.reduce(0) { $0 + $1.time }
    let slowest = times.slowest(after: match.foreign)
    if match.index == nil, spent < slowest {
      await EventLoop.sleep(for: .nanoseconds(Int64(slowest - spent)))
    }
    return match
  }

  private func run<Result: Sendable>(
    for owner: (any JobOwner)?,
    _ work: @escaping @Sendable () -> Result
  ) async throws(Failure) -> Result {
    do throws(FairQueueError) {
      let latest = EventLoop.now() &+ pool.patience.nanoseconds
      return try await pool.run(for: owner, until: latest, work)
    } catch {
      throw Failure(error, retryAfter: .seconds(1))
    }
  }
}

/// How long hashes that are not ours take to verify, by their cost.
private struct VerificationTimes {
  /// The least of each class: more was waiting.
  private var least: [String: UInt64] = [:]
  /// More classes than programs that a database was filled from.
  private static let limit = 64

  /// Takes measurements, and tells what the slowest class takes, in nanoseconds.
  mutating func slowest(after measurements: [PasswordMatch.Foreign]) -> UInt64 {
    for (cost, time) in measurements {
      if let known = least[cost] {
        least[cost] = min(known, time)
      } else if least.count < Self.limit {
        least[cost] = time
      }
    }
    return least.values.max() ?? 0
  }
}
