import Runtime
import Sessions
import EventLoop
import Postgres

/// Limits requests for mail, registrations, and new users without credentials.
enum RequestLimiter {
  /// Counts a mail to an address, by its key.
  ///
  /// One network may use half of the mails that an address may get at once. After several networks
  /// have used up all of them, each has one more mail in a window. All of them end at the limit of
  /// the address for a day. The owner of the address has a separate limit, in a session or on a
  /// known device. So strangers cannot keep mail from the owner.
  /// - Parameters:
  ///   - key: the key of the address.
  ///   - account: the user of the address; nil without one.
  ///   - context: the context of the request.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop static func mail(
    to key: String,
    for account: Account?,
    _ context: RequestContext
  ) async throws(Failure) {
    let ways = try await waysOfMail(to: key, for: account, context)
    if let more = ways.more, try await ways.first.spendIfLeft() == false {
      return try await more.spend()
    }
    if ways.more == nil { try await ways.first.spend() }
  }

  /// Counts a mail as `mail` does, for an action that also succeeds without its mail.
  ///
  /// - Returns: whether the mail may be sent; the response does not report it.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop static func mayMail(
    to key: String,
    for account: Account?,
    _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let ways = try await waysOfMail(to: key, for: account, context)
    if try await ways.first.spendIfLeft(isReported: false) { return true }
    return try await ways.more?.spendIfLeft(isReported: false) ?? false
  }

  /// Returns the limits that a mail uses, and those that it uses once these are used up.
  @EventLoop private static func waysOfMail(
    to key: String,
    for account: Account?,
    _ context: RequestContext
  ) async throws(Failure) -> (first: RateLimitSet, more: RateLimitSet?) {
    let owner = account.flatMap { $0.isTakenOverByMail ? nil : $0.user }
    if let user = context.principal.user, user == owner, try await context.isLive(user) {
      return (RateLimitSet([.inSession(.mail, key, context)], context), nil)
    }
    if try await Devices.knows(owner, context), let own = RateLimit.onDevice(.mail, key, context) {
      return (RateLimitSet([own], context), nil)
    }
    let settings = context.app.limitSettings
    let daily = RateLimit.anywhere(
      AttemptPurpose.mail.daily,
      key,
      burst: settings.mailsPerAddressDaily,
      in: .seconds(86_400),
      context
    )
    let atOnce = RateLimit.anywhere(
      AttemptPurpose.mail.anywhere,
      key,
      burst: 2 * settings.failuresPerIdentifier,
      in: settings.failureWindow,
      context
    )
    let own =
      RateLimit.fromNetwork(.mail, key, context) + RateLimit.ofNetwork(.mail, context) + [daily]
    return (
      RateLimitSet(own + [atOnce], context),
      RateLimitSet(own + RateLimit.slowlyFromNetwork(.mail, key, context), context)
    )
  }

  /// Counts a registration of an address, or a link of it, by its key.
  ///
  /// It counts by network alone, so strangers in other networks cannot block the registration.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop static func registration(
    of key: String,
    _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimitSet(
      RateLimit.fromNetwork(.registration, key, context)
        + RateLimit.ofNetwork(.registration, context),
      context
    ).spend()
  }

  /// Counts a request whether an address has a user.
  ///
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop static func lookup(_ context: RequestContext) async throws(Failure) {
    try await RateLimitSet(RateLimit.ofNetwork(.lookup, context), context).spend()
  }

  /// Counts a reset code for the client's network.
  ///
  /// A network tries a code against the newest of its flows. Few flows mean few tries.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop static func resetCode(_ context: RequestContext) async throws(Failure) {
    try await RateLimitSet(RateLimit.ofNetwork(.resetCode, context), context).spend()
  }

  /// Returns the limit of a day on codes of a network that are tried for an address.
  ///
  /// It counts all networks together. Otherwise an attacker with many networks could have as many
  /// tries as an address may get mails.
  @EventLoop static func guesses(at key: String, _ context: RequestContext) -> RateLimitSet {
    let daily = RateLimit.anywhere(
      AttemptPurpose.networkCode.daily,
      key,
      burst: context.app.limitSettings.failuresPerIdentifier,
      in: .seconds(86_400),
      context
    )
    return RateLimitSet([daily], context)
  }

  /// Returns the limits that a new user without credentials uses, for the caller to spend.
  ///
  /// - Throws: `.tooManyAttempts` if nothing is left, `.databaseUnavailable`.
  @EventLoop static func anonymous(_ context: RequestContext) async throws(Failure)
    -> RateLimitSet
  {
    let limits = RateLimitSet(RateLimit.ofNetwork(.anonymous, context), context)
    try await limits.requireLeft()
    return limits
  }
}
