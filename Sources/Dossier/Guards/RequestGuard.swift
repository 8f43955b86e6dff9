import EventLoop
import Postgres

/// Limits how often mail may be asked for, and how many users may come without credentials.
enum RequestGuard {
  /// Counts a mail to an address, by its key.
  ///
  /// One network may use half of what the address is sent at once. Where several have used up all of it,
  /// each has one mail more in a window, until the address has been sent what it may in a day. The owner
  /// of the address is counted alone, in a session or on a device of its own: strangers keep no mail
  /// from it.
  /// - Parameters:
  ///   - key: of the address.
  ///   - reader: to whom the mail of the address goes, as `Emails.reader` finds it.
  ///   - caller: who asks by an access token; nil without one.
  ///   - context: of the request.
  /// - Throws: `.tooManyAttempts`, `.unavailable`.
  @EventLoop static func mail(
    to key: String,
    for reader: MailReader?,
    by caller: Caller? = nil,
    _ context: Context
  ) async throws(Failure) {
    let ways = try await waysOfMail(to: key, for: reader, by: caller, context)
    if let more = ways.more, try await ways.first.spendIfLeft() == false {
      return try await more.spend()
    }
    if ways.more == nil { try await ways.first.spend() }
  }

  /// As `mail`, for a mail that follows from something else, which happens without it too.
  ///
  /// - Returns: whether the mail may be sent; the client is not told.
  /// - Throws: `.unavailable`.
  @EventLoop static func mayMail(
    to key: String,
    for reader: MailReader?,
    _ context: Context
  ) async throws(Failure) -> Bool {
    let ways = try await waysOfMail(to: key, for: reader, context)
    if try await ways.first.spendUnseen() { return true }
    return try await ways.more?.spendUnseen() ?? false
  }

  /// Checks that `mail` would count one now, and counts nothing.
  ///
  /// - Throws: `.tooManyAttempts`, `.unavailable`.
  @EventLoop static func requireMailLeft(
    to key: String,
    for reader: MailReader?,
    _ context: Context
  ) async throws(Failure) {
    let ways = try await waysOfMail(to: key, for: reader, context)
    if let more = ways.more, try await !ways.first.areLeft() {
      return try await more.requireLeft()
    }
    if ways.more == nil { try await ways.first.requireLeft() }
  }

  /// The allowances that a mail uses, and those that it uses where the first are used up.
  @EventLoop private static func waysOfMail(
    to key: String,
    for reader: MailReader?,
    by caller: Caller? = nil,
    _ context: Context
  ) async throws(Failure) -> (first: Allowances, more: Allowances?) {
    let owner = reader.flatMap { $0.isHolder ? $0.user : nil }
    if let caller, caller.user == owner, try await context.isLive(caller) {
      return (Allowances([.inSession(.mail, key, context)], context), nil)
    }
    let isFamiliar = try await Devices.know(owner.map { [$0] } ?? [], context)
    if isFamiliar, let own = Allowance.onDevice(.mail, key, context) {
      return (Allowances([own], context), nil)
    }
    let settings = context.app.settings
    let daily = Allowance.anywhere(
      AttemptPurpose.mail.daily,
      key,
      burst: settings.mailsPerAddressDaily,
      in: .seconds(86_400),
      context
    )
    let atOnce = Allowance.anywhere(
      AttemptPurpose.mail.anywhere,
      key,
      burst: 2 * settings.failuresPerIdentifier,
      in: settings.failureWindow,
      context
    )
    let own =
      Allowance.fromNetwork(.mail, key, context) + Allowance.ofNetwork(.mail, context) + [daily]
    return (
      Allowances(own + [atOnce], context),
      Allowances(own + Allowance.slowlyFromNetwork(.mail, key, context), context)
    )
  }

  /// Counts a registration of an address, or a link of it, by its key.
  ///
  /// By network alone: nothing that strangers do elsewhere refuses it.
  /// - Throws: `.tooManyAttempts`, `.unavailable`.
  @EventLoop static func registration(
    of key: String,
    _ context: Context
  ) async throws(Failure) {
    try await Allowances(
      Allowance.fromNetwork(.registration, key, context)
        + Allowance.ofNetwork(.registration, context),
      context
    ).spend()
  }

  /// Counts a registration that compares its password with those of users who are there.
  ///
  /// - Returns: whether it may. Where the address is registered all the time it may not: from many
  ///   networks, registrations would be as many guesses.
  /// - Throws: `.unavailable`.
  @EventLoop static func mayCompare(
    registering key: String,
    _ context: Context
  ) async throws(Failure) -> Bool {
    let all = Allowance.anywhere(
      AttemptPurpose.registration.anywhere,
      key,
      burst: context.app.settings.failuresPerIdentifier,
      in: .seconds(3_600),
      context
    )
    return try await Allowances([all], context).spendUnseen()
  }

  /// What a user without credentials uses up, to be spent when it is made.
  ///
  /// - Throws: `.tooManyAttempts` where nothing is left, `.unavailable`.
  @EventLoop static func anonymous(_ context: Context) async throws(Failure) -> Allowances {
    let allowances = Allowances(Allowance.ofNetwork(.anonymous, context), context)
    try await allowances.requireLeft()
    return allowances
  }
}
