import EventLoop
import JSON

/// Logins that were refused though no password was guessed.
///
/// Nobody guesses a token or a key, so none is slowed down; but what strangers write into the trail is
/// bounded by what failures one network may have.
package enum RefusedLogin {
  /// Records one, unless as many came from the network as it may fail.
  ///
  /// - Parameters:
  ///   - provider: what was shown: `jwt`, `api-key`, `client-key`.
  ///   - user: whose it was; nil when that is not known.
  ///   - context: the app that was asked.
  /// - Throws: `.unavailable`.
  @EventLoop package static func record(
    _ provider: String,
    of user: UserID? = nil,
    _ context: Context
  ) async throws(Failure) {
    let left = Allowances(Allowance.ofNetwork(.refused, context), context)
    guard try await left.spendUnseen() else { return }
    try await AuditEvent(
      "login_failure",
      of: user,
      by: "anyone",
      detail: ["provider": .string(provider)]
    ).record(context)
  }
}
