import EventLoop
import Outbound

/// Email addresses: their mail and their users.
package enum Emails {
  /// Mails a confirmation of the address to one user that claims it.
  ///
  /// It chooses a user known on the caller's device, else the first to claim the address. If a user
  /// has proved the address, the mail reports that an account exists. The response is the same, and
  /// as fast, for an address of no user. The owner of the address, as caller, has a separate limit.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.wayInClosed`, `.unavailable`.
  @EventLoop package static func requestConfirmation(
    of email: String,
    by caller: Caller? = nil,
    _ context: Context
  ) async throws(Failure) {
    try await request(.confirm, of: email, by: caller, context)
  }

  /// Mails a token that lets its reader choose a new password.
  ///
  /// The password is that of the user who has proved the address, else of one user that claims it,
  /// as `requestConfirmation` chooses. The response is the same, and as fast, for an address of no
  /// user.
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
    // An address of no user is counted too, though no mail is sent. So the response reports the
    // same limits.
    try await RequestGuard.mail(to: address.key, for: reader, by: caller, context)
    guard let reader else { return }
    EventLoop.task { await mail(purpose, to: reader, context) }
  }

  /// Mails the reader of an address in the background, unless the address has reached its limit.
  ///
  /// The work that depends on the user of the address runs after the response. So the response does
  /// not reveal the user.
  /// - Parameters:
  ///   - purpose: the purpose of the mail.
  ///   - address: the address as the caller sent it; the mail goes to the stored form.
  ///   - user: the claimant whom the mail is about.
  ///   - context: the context of the request.
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
