import EventLoop
import Outbound
import Postgres

/// What is done for users who cannot log in any more.
extension Users {
  /// Sets the password of a user who logs in by an address, and ends its sessions and API keys, as a
  /// reset by mail does; whether the address is proved stays as it is.
  ///
  /// - Throws: `.notFound` also for a user without such an address, `.invalid`, `.overloaded`,
  ///   `.unavailable`.
  @EventLoop package static func setPassword(
    _ password: String,
    of user: UserID,
    by administrator: Administrator,
    _ context: Context
  ) async throws(Failure) {
    let app = context.app
    let address = try await address(of: user, by: administrator, context)
    if let fault = Credentials.fault(in: password, of: address, at: "/password", app) {
      throw .invalid([fault])
    }
    let salt = context.store.keys.master.passwordSalt(app.id, address)
    let hash = try await context.store.passwords.hash(password, salt, for: context.store.owner)
    try await change(user, of: app.id, administrator) {
      (transaction, _) async throws(DatabaseError) in
      _ = try await transaction.run(PasswordQueries.set, user, hash)
      _ = try await transaction.run(APIKeyQueries.removeAll, user)
      try await endSessions(of: user, "password_set", administrator, in: transaction)
      try await administrator.record("password_set", of: user, app: app.id, in: transaction)
      try await administrator.queueNotice(of: .passwordSet, to: user, in: app.id, transaction)
    }
  }

  /// Mails a user what lets the reader choose a new password, whatever was mailed before.
  ///
  /// - Throws: `.notFound` also for a user without an address to log in by, `.emailTaken` when
  ///   another has proved it, `.mailNotConfigured`, `.unavailable`.
  @EventLoop package static func mailReset(
    to user: UserID,
    by administrator: Administrator,
    _ context: Context
  ) async throws(Failure) {
    guard context.store.mailer.isConfigured else { throw .mailNotConfigured }
    let address = try await address(of: user, by: administrator, context)
    let readers = try await context.store.read(
      EmailQueries.reader,
      context.app.id,
      address,
      user,
      nil,
      nil
    )
    guard let reader = readers.first else { throw .notFound }
    guard reader.user == user else { throw .emailTaken }
    try await MailedToken(
      .reset,
      to: reader.email,
      of: user,
      in: reader.language,
      context
    ).queue()
    try await administrator.transaction { transaction async throws(DatabaseError) in
      try await administrator.record(
        "password_reset_mail",
        of: user,
        app: context.app.id,
        in: transaction
      )
    }
  }

  /// The key of the address that the password goes with.
  @EventLoop private static func address(
    of user: UserID,
    by administrator: Administrator,
    _ context: Context
  ) async throws(Failure) -> String {
    let own = try await ownPassword(of: administrator.caller(on: user, of: context.app.id), context)
    guard let address = own.address else { throw .notFound }
    return address
  }
}
