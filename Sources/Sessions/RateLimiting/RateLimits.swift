package import Runtime
import EventLoop
import Encoding
import Postgres

extension Event {
  /// Records a change of user data, and counts it if the user made it.
  ///
  /// - Throws: `.tooManyRequests`, which undoes the transaction.
  @EventLoop package func recordChange(
    of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    if let limit = RateLimits.own(.dataChange, of: user, transaction.context) {
      try await limit.sendSpending(in: transaction)()
    }
    record(in: transaction)
  }
}

/// The counted attempts of rate limits, and their reset.
package enum RateLimits {
  /// Counts a change of a user's own credentials, if the user makes it.
  ///
  /// - Throws: `.tooManyRequests`, `.databaseUnavailable`.
  @EventLoop package static func countChange(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await own(.change, of: user, context)?.spend()
  }

  /// Returns the limit of what a user does to itself; nil for a back end and an operator, which have
  /// none.
  @EventLoop fileprivate static func own(
    _ purpose: AttemptPurpose, of user: UserID, _ context: RequestContext
  ) -> RateLimitSet? {
    guard context.principal.user == user else { return nil }
    return RateLimitSet([.ofUser(purpose, user, context)], context)
  }

  /// Forgets the failed logins of an address, and the sign-ins of its user, after a caller has used
  /// a token from its email.
  ///
  /// The right password then logs in at once from the caller's network and device, despite all
  /// attempts of strangers. The limits of strangers' own networks stay used up.
  /// - Parameters:
  ///   - key: the key of the address.
  ///   - user: the user.
  ///   - transaction: the transaction of that request. Call this last in it, as attempts are locked
  ///     after users.
  /// - Returns: a function that waits for the statements.
  @EventLoop package static func sendForget(
    of key: String, _ user: UserID, in transaction: Transaction
  ) -> Completion {
    let context = transaction.context
    let limits =
      RateLimit.fromNetwork(.login, key, context)
      + [
        RateLimit.anywhereHourly(.login, key, context), .ofUser(.session, user, context),
        .ofUser(.firstStep, user, context),
      ]
      + [RateLimit.onDevice(.login, key, context)].compactMap(\.self)
    // In the order in which `rate_limits.spend` locks them.
    let subjects = limits.map(\.subject.bytes).sorted { $0.lexicographicallyPrecedes($1) }
    let sent = subjects.map { subject in
      transaction.send(AttemptLiftQueries.forget, context.app.id, BinaryBytes(subject))
    }
    return { () async throws(Failure) in
      for sent in sent { try await sent.rows() }
    }
  }
}
