package import Accounts
package import Delivery
import Documents
import EventLoop
import Imaging
import JSON
package import Outbound
package import Postgres
import RateLimiting
package import Runtime
package import Sessions

/// The changes that back ends and operators make to users.
package enum UserAdministration {
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
    _ = transaction.send(UserAdministrationQueries.setBlocked, user, time)
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
      let rows = try await transaction.run(UserAdministrationQueries.find, user, context.app.id)
      guard let found = rows.first else { throw context.gone }
      try condition.require(found.version)
      return try await body(transaction, found)
    }
  }
}

extension UserAdministration {
  /// Registers a user with members of the profile and documents, in one transaction.
  ///
  /// - Returns: the user.
  /// - Throws: as `Users.registerOnly`; `.memberNotWritable`, `.schemaMismatch`, `.documentTooLarge`.
  @EventLoop package static func register(
    _ credentials: Credentials, with members: UserRevision, _ context: RequestContext
  ) async throws(Failure) -> UserID {
    var writes: [DocumentWrite] = []
    for (kind, members) in members.documents {
      writes.append(try await DocumentWrite(ofNewUser: kind, members, context))
    }
    return try await Users.registerOnly(credentials, context) {
      [writes] (transaction, user) async throws(Failure) in
      let system = transaction.actingAsSystem()
      for write in writes { try await write.run(of: user, in: system) }
      if members.profile.count > 0 {
        try await Profiles.change(members.profile, of: user, in: system)
      }
      if let url = members.pictureURL?.string {
        _ = transaction.send(UserRevisionQueries.finish, user, 1, false, true, url)
      }
    }
  }
}

extension UserAdministration {
  /// Makes a link to a page that resets the password or verifies the address of a user.
  ///
  /// A back end hands it over, so no mail is sent. It is used once.
  /// - Parameters:
  ///   - purpose: `.reset` or `.verify`.
  ///   - ticket: how long it is valid, and what its use does.
  ///   - user: the user.
  ///   - context: the context of the request.
  /// - Returns: the link.
  /// - Throws: `.noEmail` if the user has no address, or does not sign in by the one that the reset
  ///   does not verify; `.noHostName`, `.notFound`, `.loginMethodDisabled`, `.databaseUnavailable`.
  @EventLoop package static func link(
    for purpose: EmailToken.Purpose, _ ticket: EmailToken.Ticket, of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> String {
    try context.requireOpen(.password)
    return try await change(user, context) { (transaction, found) async throws(Failure) in
      guard let address = found.address, address.isCredential || ticket.verifies else {
        throw .noEmail
      }
      let token = EmailToken(purpose, to: address.text, of: user, in: nil, context)
      guard let link = token.issue(ticket, in: transaction) else {
        throw .noHostName
      }
      Event("ticket_create", of: user, detail: ["purpose": .string(purpose.rawValue)])
        .record(in: transaction)
      return link
    }
  }
}

/// Help for users who cannot log in.
extension UserAdministration {
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
    let found = try await context.read(UserAdministrationQueries.find, user, context.app.id)
    guard let address = found.first?.address, address.isCredential else { throw .notFound }
    try await Credentials.check(password, of: address.key, context)
    return try await context.passwords.hash(password, for: context.owner)
  }

  /// Sets the password of a locked user by its hash, in a transaction.
  @EventLoop package static func setPassword(
    _ hash: String, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    try await Users.store(hash, of: user, in: transaction)
    try await Users.revoke(of: user, "password_set", in: transaction)
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

  /// Mails a user a link that verifies the address, even shortly after another mail.
  ///
  /// The link alone changes nothing: its reader signs in too.
  /// - Throws: `.notFound` also if the user has no address, `.emailAlreadyVerified`,
  ///   `.mailNotConfigured`, `.loginMethodDisabled`, `.databaseUnavailable`.
  @EventLoop package static func mailVerification(
    to user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try context.mailer.requireConfigured()
    try context.requireOpen(.password)
    try await change(user, context) { (transaction, found) async throws(Failure) in
      guard let address = found.address else { throw .notFound }
      guard !address.isVerified else { throw .emailAlreadyVerified }
      EmailToken(
        .verify, to: address.text, of: user, in: address.language, context
      ).queue(in: transaction)
      Event("email_verify_mail", of: user).record(in: transaction)
    }
  }
}

extension Failure {
  package static let emailAlreadyVerified = Failure("email_already_verified", .conflict)
    .titled("The email address is verified already.")
    .remedied("Send no email: the user has verified the address, or an operator has.")
}

extension SecondFactors {
  /// Removes all second factors of a user who has lost them, with the recovery codes.
  ///
  /// Sessions stay. A mail reports it to the user.
  /// - Throws: `.notFound` also for a user without a second factor, `.databaseUnavailable`.
  package static func removeAll(of user: UserID, _ context: RequestContext) async throws(Failure) {
    try await UserAdministration.change(user, context) {
      (transaction, _) async throws(Failure) in
      let removed = try await transaction.run(SecondFactorQueries.removeAll, user)
      let count = removed.count { $0 }
      guard count > 0 else { throw .notFound }
      _ = transaction.send(SecondFactorQueries.removeRecoveryCodes, user)
      Event(
        "second_factor_remove", of: user, detail: ["count": .number(JSONNumber(count))]
      ).record(in: transaction)
      try await SecurityNotice.secondFactorsRemoved
        .notice(of: user, in: transaction)
        .queue(in: transaction)
    }
  }
}

extension RateLimits {
  /// Resets the limits on the sign-ins, passwords and mails of an address and of a user.
  ///
  /// - Parameters:
  ///   - email: the address as typed, also of no user; nil for none.
  ///   - user: the user; nil for the user of the address, if any.
  ///   - network: an IP address whose network and site have all their limits reset too.
  ///   - context: the context of the app.
  /// - Returns: how many limits were not full.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func reset(
    ofEmail email: String?, user: UserID? = nil, from network: IPAddress? = nil,
    _ context: RequestContext
  ) async throws(Failure) -> Int {
    var (user, key) = (user, String?.none)
    if let email {
      let address = try await EmailAddress(email, context)
      if user == nil { user = try await Accounts.holder(of: address, context) }
      key = address.key
    }
    return try await reset(of: key, user.map { [$0] } ?? [], from: network, context)
  }
}

/// A user, locked for an administrative change.
package struct AdministeredUser: RowDecodable {
  package let version: Int
  let isBlocked: Bool
  package let address: Address?

  /// The address of a user.
  package struct Address {
    let text: String
    package let key: String
    /// Whether the address is verified.
    package let isVerified: Bool
    /// Whether the user logs in by it, with a password or by mailed codes.
    let isCredential: Bool
    let language: String?
  }

  package init(from row: Row) throws(DatabaseError) {
    version = try row.int(0)
    isBlocked = try row.bool(1)
    guard let text = row.text(ifAny: 2) else {
      address = nil
      return
    }
    address = Address(
      text: text, key: try row.text(3), isVerified: try row.bool(4), isCredential: try row.bool(5),
      language: row.text(ifAny: 6)
    )
  }
}

package enum UserAdministrationQueries {
  static let find = Statement<AdministeredUser, UserID, AppID>(
    "users.administered",
    """
    select u.version, u.blocked_at is not null, u.email, email_key(u.email),
      u.email_verified,
      exists (
        select 1 from identities i
        where i.user_id = $1 and i.provider in ('password', 'email')),
      u.locale
    from users u where u.user_id = $1 and u.app_id = $2
    """)

  /// - Parameter 2: since when the user is blocked; null to unblock it.
  static let setBlocked = Statement<NoRow, UserID, ServerTime?>(
    "users.set_blocked",
    """
    update users set blocked_at = $2::timestamptz, version = version + 1, updated_at = now()
    where user_id = $1
    """)
}
