package import Runtime
import EventLoop
import Encoding
import Postgres

extension Event {
  /// Records a change of user data, and counts it if the user made it.
  ///
  /// - Throws: `.tooManyRequests`, which undoes the transaction.
  @EventLoop package func recordChange(
    of user: UserID,
    in transaction: Transaction
  ) async throws(Failure) {
    if transaction.principal.session != nil {
      let context = transaction.context
      let limit = RateLimitSet([.ofUser(.dataChange, user, context)], context)
      try await limit.sendSpending(in: transaction)()
    }
    record(in: transaction)
  }
}

/// The counted attempts of rate limits, and their reset.
package enum RateLimits {
  /// Counts a change of a user's own credentials; back ends and operators are not limited.
  ///
  /// - Throws: `.tooManyRequests`, `.databaseUnavailable`.
  @EventLoop package static func countChange(
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    guard context.principal.user == user else { return }
    try await RateLimitSet([.ofUser(.change, user, context)], context).spend()
  }

  /// Forgets the failed logins of an address, and the sign-ins of its user, after a caller has used
  /// a token from its mail.
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
    of key: String,
    _ user: UserID,
    in transaction: Transaction
  ) -> Completion {
    let context = transaction.context
    let limits =
      RateLimit.fromNetwork(.login, key, context)
      + [RateLimit.anywhereHourly(.login, key, context), .ofUser(.session, user, context)]
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
