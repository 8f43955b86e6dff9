package import Runtime
import EventLoop
import Encoding
import Postgres

/// The counted attempts of rate limits, and their reset.
package enum RateLimits {
  /// Forgets the failed logins of an address, after a caller has used a token from its mail.
  ///
  /// The right password then logs in at once from the caller's network and device, despite all
  /// attempts of strangers. The limits of strangers' own networks stay used up.
  /// - Parameters:
  ///   - key: the key of the address.
  ///   - transaction: the transaction of that request. Call this last in it, as attempts are locked
  ///     after users.
  /// - Returns: a function that waits for the statements.
  @EventLoop package static func sendForget(
    of key: String,
    in transaction: Transaction
  ) -> Completion {
    let context = transaction.context
    let limits =
      RateLimit.fromNetwork(.login, key, context)
      + [RateLimit.anywhereHourly(.login, key, context)]
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
