package import RateLimiting
package import Runtime
import Sessions
package import EventLoop
import Postgres

/// Limits requests for mail, registrations, and new users without credentials.
package enum RequestLimiter {
  /// Counts a mail to an address, by its key.
  ///
  /// One network may use half of the mails that an address may get at once. After several networks
  /// have used up all of them, each has one more mail in a window. All of them end at the limit of
  /// the address for a day. The owner of the address has a separate limit in a session and on a known
  /// device. A network from which the owner has signed in has its own limits only. So strangers
  /// elsewhere cannot keep mail from the owner.
  /// - Parameters:
  ///   - key: the key of the address.
  ///   - account: the user of the address; nil without one.
  ///   - context: the context of the request.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop static func mail(
    to key: String, for account: Account?, _ context: RequestContext
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
    to key: String, for account: Account?, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let ways = try await waysOfMail(to: key, for: account, context)
    if try await ways.first.spendIfLeft(isReported: false) { return true }
    return try await ways.more?.spendIfLeft(isReported: false) ?? false
  }

  /// Returns the limits that a mail uses, and those that it uses once these are used up.
  @EventLoop private static func waysOfMail(
    to key: String, for account: Account?, _ context: RequestContext
  ) async throws(Failure) -> (first: RateLimitSet, more: RateLimitSet?) {
    let owner = account?.owner
    if let user = context.principal.user, user == owner, try await context.isLive(user) {
      return (RateLimitSet([.inSession(.mail, key, context)], context), nil)
    }
    if try await Devices.knows(owner, context), let own = RateLimit.onDevice(.mail, key, context) {
      return (RateLimitSet([own], context), nil)
    }
    let settings = context.app.limitSettings
    let daily = RateLimit.mailsDaily(to: key, context)
    let atOnce = RateLimit.anywhere(
      AttemptPurpose.mail.anywhere, key, burst: 2 * settings.failuresPerIdentifier,
      in: settings.failureWindow, context
    )
    let ofPlace =
      RateLimit.fromNetwork(.mail, key, context) + RateLimit.ofNetwork(.mail, context)
    let own = ofPlace + [daily]
    let more =
      try await KnownNetworks.has(owner, context)
      ? ofPlace : own + RateLimit.slowlyFromNetwork(.mail, key, context)
    return (RateLimitSet(own + [atOnce], context), RateLimitSet(more, context))
  }

  /// Counts a registration of an address, or a link of it, by its key.
  ///
  /// It counts by network alone, so strangers in other networks cannot block the registration.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop package static func registration(
    of key: String, _ context: RequestContext
  ) async throws(Failure) {
    try await RateLimitSet(
      RateLimit.fromNetwork(.registration, key, context)
        + RateLimit.ofNetwork(.registration, context),
      context
    ).spend()
  }

  /// Returns the limits that a registration without an address uses, for the caller to spend.
  ///
  /// - Throws: `.tooManyAttempts` if nothing is known to be left, `.databaseUnavailable`.
  @EventLoop package static func unnamedRegistration(
    _ context: RequestContext
  ) async throws(Failure) -> RateLimitSet {
    let limits = RateLimitSet(RateLimit.ofNetwork(.registration, context), context)
    try await limits.refuseEarly()
    return limits
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

  /// Counts a guess at a code of a network for an address.
  ///
  /// The limit of a day counts all networks together. Otherwise an attacker with many networks could
  /// have as many tries as an address may get mails. A code with one more digit may be guessed ten
  /// times as often. Once strangers have used the limit up, a network from which the owner of the
  /// address has signed in has a limit of its own.
  /// - Parameters:
  ///   - digits: the length of the guess, one of `NetworkCode.digits`.
  ///   - key: the key of the address.
  ///   - context: the context of the request.
  /// - Returns: the limit that was used.
  /// - Throws: `.tooManyAttempts`, `.databaseUnavailable`.
  @EventLoop static func guess(
    digits: Int, at key: String, _ context: RequestContext
  ) async throws(Failure) -> RateLimitSet {
    let (purpose, day) = (AttemptPurpose.networkCode, Duration.seconds(86_400))
    let identifier = NetworkCode.identifier(digits: digits, of: key)
    let more = (NetworkCode.digits.lowerBound..<digits).reduce(1) { times, _ in times * 10 }
    let burst = context.app.limitSettings.failuresPerIdentifier * more
    let all = RateLimit.anywhere(purpose.daily, identifier, burst: burst, in: day, context)
    let daily = RateLimitSet([all], context)
    if try await daily.spendIfLeft() { return daily }
    let account = try await Accounts.find(EmailAddress(key: key), context)
    guard try await KnownNetworks.has(account?.owner, context) else {
      try await daily.spend()
      return daily
    }
    let own = RateLimit.fromKnownNetwork(purpose, identifier, in: day, context)
    let known = RateLimitSet([own], context)
    try await known.spend()
    return known
  }

  /// Returns the limits that a new user without credentials uses, for the caller to spend.
  ///
  /// - Throws: `.tooManyAttempts` if nothing is known to be left, `.databaseUnavailable`.
  @EventLoop static func anonymous(_ context: RequestContext) async throws(Failure)
    -> RateLimitSet
  {
    let limits = RateLimitSet(RateLimit.ofNetwork(.anonymous, context), context)
    try await limits.refuseEarly()
    return limits
  }
}
