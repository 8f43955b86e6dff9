package import EventLoop
package import Runtime
import Sessions
package import Tenancy

/// The signed assertions by which clients authenticate in place of their secret.
@EventLoop package enum ClientAssertions {
  /// How many assertions of a client are accepted in `window`; each leaves a row for a while.
  private nonisolated static let most = 36_000
  private nonisolated static let window = Duration.seconds(360)

  /// Returns whether an assertion proves that its sender is a client, and uses it up.
  ///
  /// A used id is a rate limit of one attempt, so all workers count it together, and maintenance
  /// deletes it. Only tokens with a right signature are counted.
  /// - Parameters:
  ///   - text: the assertion.
  ///   - client: the client.
  ///   - issuer: the issuer that the assertion must be for.
  ///   - context: the context of the request.
  /// - Returns: false for a wrong assertion, and for one whose id was used before.
  /// - Throws: `.tooManyAttempts` if the client has sent too many, `.databaseUnavailable`.
  /// - Source: RFC 7523 section 3, item 7.
  package static func accept(
    _ text: String, of client: Client, for issuer: String, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let assertion = client.assertion(text, for: issuer) else { return false }
    let all = RateLimit.anywhere("assertions", client.id.text, burst: most, in: window, context)
    let once = RateLimit(
      "assertion", of: [client.id.text, assertion.id], burst: 1, in: assertion.memory,
      isReported: false, context.keys.master
    )
    if try await RateLimitSet([all, once], context).spendIfLeft(isReported: false) { return true }
    try await RateLimitSet([all], context).requireLeft()
    return false
  }
}
