import EventLoop
import Notation

/// Limits how often mail may be asked for, and how many users may come without credentials.
enum RequestGuard {
  /// The name of the allowance for users without credentials.
  static let anonymous = "anonymous"

  /// Counts a mail to an address, by its key.
  ///
  /// One network may use half of what the address is sent at once, and where several have used up all
  /// of it, each has one mail more in a window: strangers make mail slower for others, and keep it from
  /// nobody. A device on which who has proved the address has logged in before is counted for itself
  /// alone.
  /// - Returns: to whom the mail of the address goes, as `Emails.reader` finds it.
  /// - Throws: `.tooManyAttempts`, `.unavailable`.
  @EventLoop static func mail(
    to key: String,
    _ context: Context
  ) async throws(Failure) -> MailReader? {
    let reader = try await Emails.reader(of: key, context)
    let isFamiliar = try await Devices.know(
      [reader].compactMap { $0?.isHolder == true ? $0?.user : nil },
      context
    )
    if isFamiliar, let own = Allowance.onDevice(.mail, key, context) {
      try await Allowances([own], context).spend()
    } else {
      try await spendOfStrangers(on: key, context)
    }
    return reader
  }

  @EventLoop private static func spendOfStrangers(
    on key: String,
    _ context: Context
  ) async throws(Failure) {
    let settings = context.app.settings
    try await Allowances(
      [.fromNetwork(.mail, key, context), .ofNetwork(.mail, context)],
      context
    ).spend()
    let all = Allowance.anywhere(
      .mail,
      key,
      burst: 2 * settings.failuresPerIdentifier,
      in: settings.failureWindow,
      context
    )
    if try await Allowances([all], context).spendUnseen() { return }
    try await Allowances([.fromNetwork(.mail, key, isSlow: true, context)], context).spend()
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
