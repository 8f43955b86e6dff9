import EventLoop
import Outbound
import Postgres

/// Helps users who cannot sign in any more.
extension Users {
  /// Sets the password of a user who signs in by an address, and ends its sessions and API keys, as a
  /// reset by mail does; whether the address is verified stays as it is.
  ///
  /// - Throws: `.notFound` also for a user who does not sign in by an address, `.invalid`,
  ///   `.overloaded`, `.unavailable`.
  @EventLoop package static func setPassword(
    _ password: String,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    let app = context.app
    let found = try await context.read(UsersAdministrationQueries.find, user, app.id)
    guard let address = found.first?.address, address.isCredential else { throw .notFound }
    if let fault = Credentials.fault(in: password, of: address.key, at: "/password", app) {
      throw .invalid([fault])
    }
    let hash = try await context.passwords.hash(password, for: context.owner)
    try await change(user, context) { (transaction, _) async throws(Failure) in
      _ = try await transaction.run(PasswordQueries.set, user, hash)
      _ = try await transaction.run(APIKeyQueries.removeAll, user)
      try await endSessions(of: user, "password_set", context, in: transaction)
      try await Event("password_set", of: user).record(in: transaction, context)
      try await WayInChange.passwordSet.notice(of: user, in: transaction, context).queue(
        in: transaction
      )
    }
  }

  /// Mails a user a link to choose a new password, also soon after another mail.
  ///
  /// - Throws: `.notFound` also for a user without an address, `.mailNotConfigured`, `.unavailable`.
  @EventLoop package static func mailReset(
    to user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    guard context.mailer.isConfigured else { throw .mailNotConfigured }
    try await change(user, context) { (transaction, found) async throws(Failure) in
      guard let address = found.address else { throw .notFound }
      try await MailedToken(
        .reset,
        to: address.text,
        of: user,
        in: address.language,
        context
      ).queue(in: transaction)
      try await Event("password_reset_mail", of: user).record(in: transaction, context)
    }
  }
}
