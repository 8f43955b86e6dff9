internal import CSodium
package import EventLoop
package import PasswordHashes

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

  /// Returns the hash of a new password, in the PHC string format.
  ///
  /// - Throws: `.overloaded` when the queue is full, `.tooManyAtOnce` when its owner's share is.
  func hash(_ password: String, for owner: (any JobOwner)?) async throws(Failure) -> String {
    hashes += 1
    let hash = try await run(for: owner) { [cost] in cost.hash(password) }
    guard let hash else { throw .unforeseen("no memory for Argon2id") }
    return hash
  }

  /// Returns whether `password` is the one that was hashed; false at once for a user without one.
  ///
  /// Use it for a known user: the time tells whether there is a hash.
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

  /// Checks a password at a sign-in, in a time that does not tell whether there is a hash.
  ///
  /// A hash that was made by another program or at another cost is verified, and a new one is made. A
  /// wrong password is answered when as much time has passed as the slowest such hash takes that was
  /// met here.
  /// - Parameters:
  ///   - password: as somebody typed it.
  ///   - hash: the stored hash; nil for an address of no user.
  ///   - owner: for whom; nil for the server itself.
  /// - Returns: whether the password is right, and the hash that replaces the stored one.
  /// - Throws: as `hash`.
  func check(
    _ password: String,
    against hash: String?,
    for owner: (any JobOwner)?
  ) async throws(Failure) -> PasswordCheck {
    let stored = hash.flatMap { try? PasswordHash($0) }
    if let stored, stored.isMade(at: cost) {
      hashes += 1
      let isRight = try await run(for: owner) { stored.isRight(password) }
      if !isRight { await times.holdBack(0) }
      return PasswordCheck(isRight: isRight, renewed: nil)
    }
    hashes += stored == nil ? 1 : 2
    let (made, isRight, spent) = try await run(for: owner) { [cost] in
      let made = cost.hash(password)
      let start = EventLoop.now()
      let isRight = stored?.isRight(password) ?? false
      return (made, isRight, stored == nil ? 0 : EventLoop.now() - start)
    }
    guard let made else { throw .unforeseen("no memory for Argon2id") }
    if let stored { times.note(spent, of: stored.costClass) }
    if !isRight { await times.holdBack(spent) }
    return PasswordCheck(isRight: isRight, renewed: isRight ? made : nil)
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

/// The result of a check of a password.
struct PasswordCheck: Sendable {
  let isRight: Bool
  /// The hash that takes the place of the stored one, if that was made otherwise.
  let renewed: String?
}

/// How long hashes that are not ours take to verify, by their cost.
@EventLoop private struct VerificationTimes {
  /// The least of each class, in nanoseconds: more was waiting.
  private var least: [String: UInt64] = [:]
  /// More classes than programs that a database was filled from.
  private nonisolated static let limit = 64

  nonisolated init() {}

  mutating func note(_ time: UInt64, of cost: String) {
    if let known = least[cost] {
      least[cost] = min(known, time)
    } else if least.count < Self.limit {
      least[cost] = time
    }
  }

  /// Waits until as much time has passed as the slowest class takes.
  func holdBack(_ spent: UInt64) async {
    let slowest = least.values.max() ?? 0
    if spent < slowest { await EventLoop.sleep(for: .nanoseconds(Int64(slowest - spent))) }
  }
}
