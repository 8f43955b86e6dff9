import EventLoop
import Notation

/// Limits how often mail may be asked for, and how many users may come without credentials.
enum RequestGuard {
  /// The name of the allowance for users without credentials.
  static let anonymous = "anonymous"

  /// Counts a mail to an address, by its key.
  ///
  /// One network may use half of what the address is sent at most, so that another finds some left.
  /// - Throws: `.tooManyAttempts`, `.unavailable`.
  @EventLoop static func mail(to key: String, _ context: Context) async throws(Failure) {
    let settings = context.app.settings
    try await Allowances(
      Allowance.of(
        .mail,
        key,
        anywhere: 2 * settings.failuresPerIdentifier,
        in: settings.failureWindow,
        context
      ),
      context
    ).spend()
  }

  /// What a user without credentials uses up, to be spent when it is made.
  ///
  /// - Throws: `.tooManyAttempts` where nothing is left, `.unavailable`.
  @EventLoop static func anonymous(_ context: Context) async throws(Failure) -> Allowances {
    let allowance = Allowance(
      anonymous,
      of: String(hexadecimal: context.origin.network),
      burst: context.app.settings.anonymousPerAddress,
      in: .seconds(3_600),
      context.store.keys.master
    )
    let allowances = Allowances([allowance], context)
    try await allowances.requireLeft()
    return allowances
  }
}
