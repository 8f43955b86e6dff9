package import Accounts
import Delivery
package import Runtime
import Sessions
package import EventLoop
import JSON
import Postgres

/// The management of users.
extension Users {
  /// Returns the profiles of the users of an app, oldest first.
  ///
  /// - Parameters:
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the profiles.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func page(
    after cursor: UserID? = nil, count: Int = PageLimit.most, _ context: RequestContext
  ) async throws(Failure) -> Page<Profile> {
    let profiles = try await context.search(
      UsersAdministrationQueries.page, context.app.id, cursor, count
    )
    return Page(profiles, of: count)
  }

  /// Returns the user of an address, verified or not; nil if no user has it.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func holder(
    of email: String, _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    try await Accounts.holder(of: EmailAddress(email, context), context)
  }

  /// Blocks a locked user and ends its sessions, or unblocks it.
  ///
  /// It changes nothing if the user is already in that state.
  @EventLoop package static func setBlocked(
    _ isBlocked: Bool, _ user: UserID, _ found: AdministeredUser, in transaction: Transaction
  ) async throws(Failure) {
    guard found.isBlocked != isBlocked else { return }
    let time = isBlocked ? ServerTime() : nil
    _ = transaction.send(UsersAdministrationQueries.setBlocked, user, time)
    if isBlocked { try await Sessions.end(.all, of: user, "blocked", in: transaction) }
    Event(isBlocked ? "user_block" : "user_unblock", of: user).record(in: transaction)
  }

  /// Marks the address of a user as verified, at the operator's request.
  ///
  /// It revokes nothing. An attacker may have created the user. The next mail verification
  /// therefore takes the account over, as after a verification by mail only.
  /// - Throws: `.notFound` also if the user has no address, `.databaseUnavailable`.
  @EventLoop package static func verifyEmail(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await change(user, context) { (transaction, found) async throws(Failure) in
      try await verifyEmail(of: user, found, in: transaction)
    }
  }

  /// Marks the address of a locked user as verified, in a transaction.
  @EventLoop package static func verifyEmail(
    of user: UserID, _ found: AdministeredUser, in transaction: Transaction
  ) async throws(Failure) {
    guard let address = found.address else { throw .notFound }
    guard !address.isVerified else { return }
    let key = EmailAddress(key: address.key)
    try await Accounts.verify(key, of: user, byReader: true, in: transaction)
  }

  /// Replaces the address of a locked user, and mails a notice to a former one that was verified.
  ///
  /// - Throws: `.noEmail` if the user does not sign in by an address, `.emailTaken`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func setEmail(
    _ email: String, _ address: EmailAddress, isVerified: Bool, of user: UserID,
    in transaction: Transaction
  ) async throws(Failure) {
    let notice = try await SecurityNotice.emailReplaced.notice(of: user, in: transaction)
    let before = try await Emails.replace(
      by: address, email, isVerified ? .backEnd : .unverified, of: user, in: transaction
    )
    Event("email_change", of: user).record(in: transaction)
    if before.email != nil { notice.queue(in: transaction) }
  }

  /// Locks a user and runs `body`, if the version condition holds.
  ///
  /// - Returns: the result of `body`.
  /// - Throws: `.notFound`, `.sessionEnded`, `.preconditionFailed`, errors of `body`.
  @discardableResult
  @EventLoop package static func change<Outcome>(
    _ user: UserID, if condition: VersionCondition = VersionCondition(), _ context: RequestContext,
    _ body: @EventLoop (Transaction, AdministeredUser) async throws(Failure) -> Outcome
  ) async throws(Failure) -> Outcome {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let rows = try await transaction.run(UsersAdministrationQueries.find, user, context.app.id)
      guard let found = rows.first else { throw context.gone }
      try condition.require(found.version)
      return try await body(transaction, found)
    }
  }
}
