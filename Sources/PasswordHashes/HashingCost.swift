internal import CSodium
import EventLoop
import Encoding

/// The cost of a password hash: parameters of Argon2id with one lane.
package struct HashingCost: Sendable, Hashable {
  /// Memory in KiB.
  package let memory: Int
  package let passes: Int

  package init(memory: Int, passes: Int) {
    self.memory = memory
    self.passes = passes
  }

  /// The minimum: 19 MiB and 2 passes.
  ///
  /// - Source: OWASP Password Storage Cheat Sheet, first choice of Argon2id parameters.
  package static let least = HashingCost(memory: 19_456, passes: 2)
  /// The maximum: 4 GiB and 1,000 passes.
  ///
  /// More is assumed to be a typing error.
  package static let most = HashingCost(memory: 4_194_304, passes: 1_000)

  /// Returns the time of one hash on this machine: the median of three, after a warm-up.
  ///
  /// Blocks its thread.
  /// - Returns: nil if there is not enough memory.
  package func measured() -> Duration? {
    guard sodium_init() >= 0, hash("calibration") != nil else { return nil }
    let times = (0..<3).map { _ in
      let start = EventLoop.now()
      _ = hash("calibration")
      return EventLoop.now() - start
    }
    return .nanoseconds(times.sorted()[1])
  }

  /// Returns the cost whose hash takes about `target` on this machine.
  ///
  /// Memory grows first, up to `memoryLimit` KiB, since attackers' hardware lacks memory; then
  /// passes grow. The cost is never less than `least`, even if that takes longer.
  /// - Source: RFC 9106 section 4.
  package static func calibrated(for target: Duration, memoryLimit: Int) -> HashingCost {
    guard let floor = least.measured(), floor < target else { return least }
    let room = target / floor
    let memory = min(Int(Double(least.memory) * room), max(memoryLimit, least.memory))
    var cost = HashingCost(memory: memory / 1_024 * 1_024, passes: least.passes)
    if cost.memory < least.memory { cost = least }
    // Time is almost linear in both, so two corrections come within a few percent.
    for _ in 0..<2 {
      guard let time = cost.measured() else { return least }
      let rest = target / time
      if memory == memoryLimit {
        let passes = Int((Double(cost.passes) * rest).rounded())
        cost = HashingCost(memory: cost.memory, passes: max(passes, least.passes))
      } else {
        let corrected = min(Int(Double(cost.memory) * rest), memoryLimit) / 1_024 * 1_024
        cost = HashingCost(memory: max(corrected, least.memory), passes: least.passes)
      }
    }
    return cost
  }

  /// Returns the hash of a password in the PHC string format, with a random salt.
  ///
  /// Returns nil if there is not enough memory.
  ///
  /// Blocks its thread.
  package func hash(_ password: String) -> String? {
    var salt = [UInt8](repeating: 0, count: Int(crypto_pwhash_SALTBYTES))
    randombytes_buf(&salt, salt.count)
    var key = [UInt8](repeating: 0, count: 32)
    let code = crypto_pwhash(
      &key, UInt64(key.count), password, UInt64(password.utf8.count), salt, UInt64(passes),
      memory * 1_024, crypto_pwhash_ALG_ARGON2ID13
    )
    return code == 0
      ? "$argon2id$v=19$m=\(memory),t=\(passes),p=1$\(salt.base64)$\(key.base64)" : nil
  }
}
