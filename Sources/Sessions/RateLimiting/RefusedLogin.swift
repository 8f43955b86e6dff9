package import Runtime
package import EventLoop
import JSON

/// Logins that were refused though no password was guessed.
///
/// An attacker cannot guess a token or a key, so these logins are not slowed down. But the limit on
/// a network's failures also limits the audit events that strangers cause.
@EventLoop package enum RefusedLogin {
  /// Records a refused login, unless the network has reached its limit of failures.
  ///
  /// - Parameters:
  ///   - provider: the kind of credential: `jwt`, `api-key`, `client-secret`.
  ///   - user: the owner of the credential; nil if unknown.
  ///   - context: the context of the request.
  /// - Throws: `.databaseUnavailable`.
  package static func record(
    _ provider: String, of user: UserID? = nil, _ context: RequestContext
  ) async throws(Failure) {
    let left = RateLimitSet(RateLimit.ofNetwork(.refused, context), context)
    guard try await left.spendIfLeft(isReported: false) else { return }
    try await Event(loginFailureBy: provider, of: user).record(context)
  }
}
