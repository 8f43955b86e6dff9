import EventLoop
import Outbound

/// Addresses of mail: what is sent to them, and whose they are.
package enum Emails {
  /// Mails what confirms the address to one user that claims it.
  ///
  /// It is one known on the device that asks, else the first to claim it. Where somebody has proved
  /// the address, the mail says that there is an account. Answers alike, and at once, whether or not
  /// somebody has the address. A caller who is the owner of the address has a limit of its own.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.wayInClosed`, `.unavailable`.
  @EventLoop package static func requestConfirmation(
    of email: String,
    by caller: Caller? = nil,
    _ context: Context
  ) async throws(Failure) {
    try await request(.confirm, of: email, by: caller, context)
  }

  /// Mails what lets its reader choose a new password.
  ///
  /// It is that of who has proved the address, else of one user that claims it, as
  /// `requestConfirmation` finds it. Answers alike, and at once, whether or not the address is anybody's.
  /// - Throws: as `requestConfirmation`.
  @EventLoop package static func requestReset(
    of email: String,
    by caller: Caller? = nil,
    _ context: Context
  ) async throws(Failure) {
    try await request(.reset, of: email, by: caller, context)
  }

  @EventLoop private static func request(
    _ purpose: MailedToken.Purpose,
    of email: String,
    by caller: Caller?,
    _ context: Context
  ) async throws(Failure) {
    try context.requireOpen(.password)
    guard context.store.mailer.isConfigured else { throw .mailNotConfigured }
    let address = try await EmailAddress(email, context)
    let reader = try await reader(of: address.key, context)
    // An address that is nobody's is counted too, though nothing is sent: the limits that the answer
    // tells are the same.
    try await RequestGuard.mail(to: address.key, for: reader, by: caller, context)
    guard let reader else { return }
    EventLoop.task { await mail(purpose, to: reader, context) }
  }

  /// Mails in the background what the reader of an address has to know, unless the address has been
  /// sent as much as it may.
  ///
  /// What depends on whose the address is goes on after the answer, which tells nothing of it.
  /// - Parameters:
  ///   - purpose: why.
  ///   - address: that somebody named; the mail goes to the form that is stored.
  ///   - user: the claimant whom it is about.
  ///   - context: of the request.
  @EventLoop static func mail(
    _ purpose: MailedToken.Purpose,
    to address: EmailAddress,
    claimedBy user: UserID,
    _ context: Context
  ) {
    guard context.store.mailer.isConfigured else { return }
    EventLoop.task {
      do throws(Failure) {
        guard let reader = try await reader(of: address.key, claimedBy: user, context) else {
          return
        }
        guard try await RequestGuard.mayMail(to: address.key, for: reader, context) else { return }
        await mail(purpose, to: reader, context)
      } catch {
        context.store.mailer.lose("\(error)")
      }
    }
  }

  @EventLoop private static func mail(
    _ purpose: MailedToken.Purpose,
    to reader: MailReader,
    _ context: Context
  ) async {
    do throws(Failure) {
      if purpose == .confirm, reader.isHolder {
        try await queueTaken(to: reader, context)
      } else {
        try await MailedToken(
          purpose,
          to: reader.email,
          of: reader.user,
          in: reader.language,
          context
        ).queue()
      }
    } catch {
      context.store.mailer.lose("\(error)")
    }
  }

  /// Who has proved an address, else who claims it, as `EmailQueries.reader` finds it.
  @EventLoop static func reader(
    of key: String,
    claimedBy user: UserID? = nil,
    _ context: Context
  ) async throws(Failure) -> MailReader? {
    try await context.store.read(
      EmailQueries.reader,
      context.app.id,
      key,
      user,
      context.device?.id,
      context.device?.secret.hash(context.store.keys.master)
    ).first
  }

  /// Without a code: whoever named the address gets nothing by it.
  @EventLoop static func queueTaken(
    to reader: MailReader,
    _ context: Context
  ) async throws(Failure) {
    let message: MailMessage
    do {
      message = try AppMail.message(
        .taken,
        to: reader.email,
        in: reader.language,
        context.app
      )
    } catch {
      return context.store.mailer.lose("\(error)")
    }
    try await context.store.queue(message, .taken, of: context.app.id)
  }
}
