package import Accounts
import Delivery
package import Runtime
import EventLoop
import Outbound
import Postgres

/// Help for users who cannot log in.
extension Users {
  /// Sets the password of a user who logs in by an address, and ends its sessions and API keys.
  ///
  /// This is what a reset by mail does, except that the address stays verified or unverified.
  /// - Throws: `.notFound` also if the user does not log in by an address, `.invalid`,
  ///   `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func setPassword(
    _ password: String, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    let hash = try await hash(of: password, for: user, context)
    try await change(user, context) { (transaction, _) async throws(Failure) in
      try await setPassword(hash, of: user, in: transaction)
    }
  }

  /// Returns the hash of a password for a user who logs in by an address.
  ///
  /// - Throws: `.notFound` if the user does not, `.invalid`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func hash(
    of password: String, for user: UserID, _ context: RequestContext
  ) async throws(Failure) -> String {
    let found = try await context.read(UsersAdministrationQueries.find, user, context.app.id)
    guard let address = found.first?.address, address.isCredential else { throw .notFound }
    try await Credentials.check(password, of: address.key, context)
    return try await context.passwords.hash(password, for: context.owner)
  }

  /// Sets the password of a locked user by its hash, in a transaction.
  @EventLoop package static func setPassword(
    _ hash: String, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    try await Users.store(hash, of: user, in: transaction)
    try await revoke(of: user, "password_set", in: transaction)
    try await SecurityNotice.passwordSet.record(of: user, in: transaction)
  }

  /// Mails a user a password reset link, even shortly after another mail.
  ///
  /// - Throws: `.notFound` also if the user has no address, `.mailNotConfigured`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func mailReset(
    to user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try context.mailer.requireConfigured()
    try await change(user, context) { (transaction, found) async throws(Failure) in
      guard let address = found.address else { throw .notFound }
      EmailToken(
        .reset, to: address.text, of: user, in: address.language, context
      ).queue(in: transaction)
      Event("password_reset_mail", of: user).record(in: transaction)
    }
  }
}
