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

  /// 19 MiB and 2 passes, one lane.
  ///
  /// - Source: OWASP Password Storage Cheat Sheet, first choice of Argon2id parameters.
  private nonisolated static let memory = 19_456 * 1_024
  private nonisolated static let passes: UInt64 = 2

  /// - Parameter pool: as many threads as cores may be spent on hashing.
  package init(pool: BlockingPool) {
    precondition(sodium_init() >= 0, "libsodium cannot be initialised")
    self.pool = pool
  }

  /// Hashes a new password, in the PHC string format.
  ///
  /// - Throws: `.overloaded` when the queue is full.
  func hash(_ password: String) async throws(Failure) -> String {
    let hash = try await run { Self.hash(password) }
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
    let outcome = try await run { () -> (isRight: Bool, renewed: String?) in
      guard Self.isRight(password, stored) else { return (false, nil) }
      let isOutdated = crypto_pwhash_str_needs_rehash(stored, Self.passes, Self.memory) != 0
      return (true, isOutdated ? Self.hash(password) : nil)
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

  private nonisolated static func hash(_ password: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(crypto_pwhash_STRBYTES)) { text in
      guard let start = text.baseAddress else { return nil }
      let code = crypto_pwhash_str_alg(
        start,
        password,
        UInt64(password.utf8.count),
        passes,
        memory,
        crypto_pwhash_ALG_ARGON2ID13
      )
      return code == 0 ? String(cString: start) : nil
    }
  }

  private nonisolated static func isRight(_ password: String, _ hash: String) -> Bool {
    crypto_pwhash_str_verify(hash, password, UInt64(password.utf8.count)) == 0
  }
}
