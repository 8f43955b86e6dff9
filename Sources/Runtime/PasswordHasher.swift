internal import CSodium
package import EventLoop
package import PasswordHashes

/// Argon2id on threads of its own.
///
/// Each hash takes tens of milliseconds and `memory` bytes. Networks and users take turns, so a
/// flood of logins from one of them does not delay the others. The server refuses the excess logins
/// rather than serve them late.
@EventLoop package final class PasswordHasher: DomainService {
  package let pool: FairPool
  /// The number of hashes so far; a request adds the same number for any address.
  package private(set) var hashes = 0
  private var times = VerificationTimes()

  private let cost: HashingCost

  /// - Parameters:
  ///   - pool: as many threads as cores may be spent on hashing.
  ///   - cost: the cost of new hashes; a hash with another cost is replaced at the next login.
  package init(pool: FairPool, cost: HashingCost = .least) {
    precondition(sodium_init() >= 0, "libsodium cannot be initialised")
    self.pool = pool
    self.cost = cost
  }

  /// Returns the hash of a new password, in the PHC string format.
  ///
  /// - Throws: `.overloaded` if the queue is full, `.tooManyRequests` if its owner's share is.
  package func hash(_ password: String, for owner: (any JobOwner)?) async throws(Failure) -> String
  {
    hashes += 1
    let hash = try await run(for: owner) { [cost] in cost.hash(password.preparedPassword) }
    guard let hash else { throw .internalError(reason: "no memory for Argon2id") }
    return hash
  }

  /// Verifies a password against a hash; returns false at once without a hash.
  ///
  /// Use it for a known user only: the time reveals whether there is a hash.
  /// - Throws: as `hash`.
  package func verify(
    _ password: String, against hash: String?, for owner: (any JobOwner)?
  ) async throws(Failure) -> Bool {
    guard let stored = hash.flatMap({ try? PasswordHash($0) }) else { return false }
    let forms = forms(of: password)
    hashes += forms.count
    return try await run(for: owner) { forms.contains { stored.isRight($0) } }
  }

  /// Returns the forms to compare: the prepared one, and then the bytes that were typed, if they
  /// differ.
  ///
  /// Other programs hash what was typed, and so did this one. How many forms there are depends on
  /// the typed text only, and so does the time.
  private func forms(of password: String) -> [String] {
    let prepared = password.preparedPassword
    return prepared.utf8.elementsEqual(password.utf8) ? [prepared] : [prepared, password]
  }

  /// Checks a password at a login, in a time that does not reveal whether there is a hash.
  ///
  /// A hash from another program, with another cost, or of a password that was not prepared, is
  /// verified, and a new one is made. The
  /// response to a wrong password is delayed by the time of the slowest kind of such hashes seen
  /// here.
  /// - Parameters:
  ///   - password: the password as the user typed it.
  ///   - hash: the stored hash; nil if no user has the address.
  ///   - owner: the owner of the work; nil for the server itself.
  /// - Returns: whether the password is right, and the hash that replaces the stored one.
  /// - Throws: as `hash`.
  package func check(
    _ password: String, against hash: String?, for owner: (any JobOwner)?
  ) async throws(Failure) -> PasswordCheck {
    let stored = hash.flatMap { try? PasswordHash($0) }
    let forms = forms(of: password)
    if let stored, stored.isMade(at: cost) {
      hashes += forms.count
      let (right, renewed) = try await run(for: owner) { [cost] in
        let right = forms.firstIndex { stored.isRight($0) }
        return (right, right ?? 0 == 0 ? nil : cost.hash(forms[0]))
      }
      if right == nil { await times.holdBack(0, of: forms.count) }
      return PasswordCheck(isRight: right != nil, renewed: renewed)
    }
    hashes += stored == nil ? forms.count : forms.count * 2
    let (made, isRight, spent) = try await run(for: owner) { [cost] in
      // As many as a current hash would take.
      let made = forms.map { _ in cost.hash(forms[0]) }[0]
      let start = EventLoop.now()
      let isRight = stored.map { stored in forms.contains { stored.isRight($0) } } ?? false
      return (made, isRight, stored == nil ? 0 : EventLoop.now() - start)
    }
    guard let made else { throw .internalError(reason: "no memory for Argon2id") }
    // A right password may end at its first form.
    if let stored, forms.count == 1 { times.note(spent, of: stored.costClass) }
    if !isRight { await times.holdBack(spent, of: forms.count) }
    return PasswordCheck(isRight: isRight, renewed: isRight ? made : nil)
  }

  private func run<Result: Sendable>(
    for owner: (any JobOwner)?, _ work: @escaping @Sendable () -> Result
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
package struct PasswordCheck: Sendable {
  package let isRight: Bool
  /// The hash that replaces a stored hash of another kind or cost, or of the typed form.
  package let renewed: String?
}

/// Verification times of hashes of other kinds and costs.
@EventLoop private struct VerificationTimes {
  /// The shortest time of each class, in nanoseconds; longer times include waiting.
  private var least: [String: UInt64] = [:]
  /// More classes than the programs from which a database was filled.
  private nonisolated static let limit = 64

  nonisolated init() {}

  mutating func note(_ time: UInt64, of cost: String) {
    if let known = least[cost] {
      least[cost] = min(known, time)
    } else if least.count < Self.limit {
      least[cost] = time
    }
  }

  /// Waits until the time of the slowest class has passed, for each form of the password.
  func holdBack(_ spent: UInt64, of forms: Int) async {
    let slowest = (least.values.max() ?? 0) * UInt64(forms)
    if spent < slowest { await EventLoop.sleep(for: .nanoseconds(Int64(slowest - spent))) }
  }
}

extension RequestContext {
  package var passwords: PasswordHasher { dependencies[PasswordHasher.self] }
}
