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
    by administrator: Administrator,
    _ context: Context
  ) async throws(Failure) {
    let app = context.app
    let found = try await context.store.read(UsersAdministrationQueries.find, user, app.id)
    guard let address = found.first?.address, address.isCredential else { throw .notFound }
    if let fault = Credentials.fault(in: password, of: address.key, at: "/password", app) {
      throw .invalid([fault])
    }
    let hash = try await context.store.passwords.hash(password, for: context.store.owner)
    try await change(user, of: app.id, administrator) { (transaction, _) async throws(Failure) in
      _ = try await transaction.run(PasswordQueries.set, user, hash)
      _ = try await transaction.run(APIKeyQueries.removeAll, user)
      try await endSessions(of: user, "password_set", administrator, in: transaction)
      try await administrator.record("password_set", of: user, app: app.id, in: transaction)
      try await administrator.queueNotice(of: .passwordSet, to: user, in: app.id, transaction)
    }
  }

  /// Mails a user a link to choose a new password, also soon after another mail.
  ///
  /// - Throws: `.notFound` also for a user without an address, `.mailNotConfigured`, `.unavailable`.
  @EventLoop package static func mailReset(
    to user: UserID,
    by administrator: Administrator,
    _ context: Context
  ) async throws(Failure) {
    guard context.store.mailer.isConfigured else { throw .mailNotConfigured }
    let app = context.app.id
    try await change(user, of: app, administrator) { (transaction, found) async throws(Failure) in
      guard let address = found.address else { throw .notFound }
      try await MailedToken(
        .reset,
        to: address.text,
        of: user,
        in: address.language,
        context
      ).queue(in: transaction)
      try await administrator.record("password_reset_mail", of: user, app: app, in: transaction)
    }
  }
}
