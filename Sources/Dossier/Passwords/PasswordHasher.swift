internal import CSodium
package import EventLoop

/// Argon2id on threads of its own.
///
/// Each hash takes tens of milliseconds and `memory` bytes; the queue is bounded, so that a flood of
/// logins is refused rather than served late.
@EventLoop package final class PasswordHasher {
  package let pool: BlockingPool
  /// A hash of no password, to spend the same time on users that do not exist.
  private var decoy: String?

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

  /// Whether `password` is the one that was hashed; with nil as long a time passes and the answer is
  /// no.
  ///
  /// - Returns: also a new hash, when the stored one was made with other parameters.
  func verify(
    _ password: String,
    against hash: String?
  ) async throws(Failure) -> (isRight: Bool, renewed: String?) {
    let stored: String
    if let hash {
      stored = hash
    } else if let decoy {
      stored = decoy
    } else {
      stored = try await self.hash("")
      decoy = stored
    }
    let outcome = try await run { [cost] () -> (isRight: Bool, renewed: String?) in
      guard Self.isRight(password, stored) else { return (false, nil) }
      return (true, cost.isCost(of: stored) ? nil : cost.hash(password))
    }
    return hash == nil ? (false, nil) : outcome
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

  private nonisolated static func isRight(_ password: String, _ hash: String) -> Bool {
    crypto_pwhash_str_verify(hash, password, UInt64(password.utf8.count)) == 0
  }
}
