import EventLoop
import JSON
package import Postgres

/// Another address for a user: nothing changes until the new one is proved, and for a week the one
/// before can be given back.
extension Emails {
  /// Mails to a new address what makes it the caller's; where another user has proved that address,
  /// the mail tells that one instead.
  ///
  /// Answers alike, and at once, whether or not somebody has it.
  /// - Throws: `.invalid`, `.noEmail`, `.emailTaken` in an app that reveals it, `.mailNotConfigured`,
  ///   `.tooManyAttempts`, `.unauthenticated`, `.unavailable`.
  @EventLoop package static func requestChange(
    to email: String,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    try EmailAddress.check(email, context)
    guard context.store.mailer.isConfigured else { throw .mailNotConfigured }
    let address = try await EmailAddress(email, context)
    let found = try await context.store.read(
      EmailChangeQueries.own,
      caller.user,
      caller.authority
    )
    guard let own = found.first else { throw caller.gone }
    guard let key = own.key else { throw .noEmail }
    guard !key.hasSameBytes(as: address.key) else {
      throw .invalid([Fault("/email", "same", "This is the address that the user has.")])
    }
    let reader = try await reader(of: address.key, context)
    if context.app.settings.revealsTakenEmails, reader?.isHolder == true { throw .emailTaken }
    try await RequestGuard.mail(to: address.key, for: reader, context)
    EventLoop.task {
      do throws(Failure) {
        if let reader, reader.isHolder {
          return try await queueTaken(to: reader, context)
        }
        try await MailedToken(
          .email,
          to: address.stored(email),
          of: caller.user,
          in: own.language,
          context
        ).queue()
      } catch {
        context.store.mailer.lose("\(error)")
      }
    }
  }

  /// Makes an address the caller's by what was mailed there, and mails to the one before how it can
  /// be given back.
  ///
  /// It asks for a session of the user: an address that was mistyped is somebody else's, who reads
  /// that mail.
  /// - Throws: `.invalidMailToken`, `.emailTaken` when another has proved the address meanwhile,
  ///   `.unauthenticated`, `.unavailable`.
  @EventLoop package static func confirmChange(
    _ text: String,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    try await context.requireSession(of: caller)
    let token = try await ShownToken(text, for: [.email], context)
    guard token.user == caller.user else { throw .invalidMailToken }
    try await token.use(context) { (email, transaction) async throws(DatabaseError) in
      let app = context.app.id
      // A session that has ended meanwhile changes nothing.
      guard
        try await !transaction.run(CallerQueries.live, caller.user, caller.authority).isEmpty,
        let before = try await transaction.run(
          EmailChangeQueries.change,
          caller.user,
          app,
          email
        ).first
      else { return false }
      _ = try await transaction.run(EmailQueries.supersede, app, email, caller.user, caller.actor)
      try await AuditEvent(
        "email_change",
        of: caller.user,
        session: caller.session,
        device: caller.device
      ).record(in: transaction, context)
      guard let old = before.email else { return true }
      try await MailedToken(.restore, to: old, of: caller.user, in: before.language, context)
        .queue(in: transaction)
      return true
    }
  }

  /// Gives an address back to the user that had it, with a new password, by what was mailed there.
  ///
  /// Who has changed it knew how to log in, so all else ends that can, as when an address is proved
  /// for the first time. The address that it had in between is told.
  ///
  /// A user who has proved the address since keeps it: what is stored there may be its reader's own,
  /// who can log in there, and decide.
  /// - Returns: who is to be logged in, by the new password, as after a reset.
  /// - Throws: `.invalid`, `.invalidMailToken`, `.formerEmailTaken` when another user has proved the
  ///   address meanwhile (the token stays good), `.deviceUnknown`, `.deviceFull` (likewise),
  ///   `.wayInClosed`, `.overloaded`, `.unavailable`.
  @EventLoop package static func restore(
    _ text: String,
    password: String,
    _ context: Context
  ) async throws(Failure) -> Proof {
    try context.requireOpen(.password)
    let (token, hash) = try await choose(password, by: text, for: [.restore], context)
    let device = try await Devices.admit(token.user, context)
    do throws(Failure) {
      try await restore(token, hash, context)
    } catch .emailTaken {
      throw .formerEmailTaken
    }
    return Proof(of: token.user, by: "password", showing: hash, on: device)
  }

  @EventLoop private static func restore(
    _ token: ShownToken,
    _ hash: String,
    _ context: Context
  ) async throws(Failure) {
    let (user, app) = (token.user, context.app.id)
    try await token.use(context) { (email, transaction) async throws(DatabaseError) in
      let notice = try await WayInChange.emailDisplaced.notice(
        of: user,
        in: transaction,
        context.app,
        context.store
      )
      // Whoever logged in may have unlinked the address.
      _ = try await transaction.run(EmailChangeQueries.relink, user, app, email, IdentityID(), hash)
      let before = try await transaction.run(EmailChangeQueries.change, user, app, email).first
      if before?.email != nil { try await notice.queue(in: transaction) }
      _ = try await transaction.run(EmailQueries.supersede, app, email, user, "anyone")
      _ = try await transaction.run(PasswordQueries.set, user, hash)
      try await endSessions(of: user, "email_restore", in: transaction, context)
      try await endOtherWaysIn(of: user, app, by: "anyone", context.origin, in: transaction)
      try await WayInChange.emailRestored.record(ofReader: user, in: transaction, context)
      return true
    }
  }
}

/// The address by which a user can log in.
struct OwnEmail: RowDecodable {
  /// Nil when there is none.
  let key: String?
  let language: String?

  init(from row: Row) throws(DatabaseError) {
    key = row.text(ifAny: 0)
    language = row.text(ifAny: 1)
  }
}

/// The address that was the user's before.
struct FormerEmail: RowDecodable {
  /// Nil when the user has not proved it, or it is the new one.
  let email: String?
  let language: String?

  init(from row: Row) throws(DatabaseError) {
    email = row.text(ifAny: 0)
    language = row.text(ifAny: 1)
  }
}

package enum EmailChangeQueries {
  /// One row when the session is live.
  static let own = Statement<OwnEmail, UserID, Authority>(
    "email_change.own",
    """
    select i.subject, c.locale from caller($1, $2) c
    left join identities i on i.user_id = c.user_id and i.provider = 'password'
    """
  )

  /// Puts an address that is proved in the place of the one before, whose mailed tokens are of no
  /// more use but those that give it back; no row when there was none.
  ///
  /// Fails by `identity_subjects_taken` when another user has it.
  static let change = Statement<FormerEmail, UserID, AppID, String>(
    "email_change.change",
    """
    with own as (
      select i.identity_id, case when u.email_verified and i.subject <> email_key($3)
        then u.email end as email, u.locale
      from identities i join users u on u.user_id = i.user_id
      where i.user_id = $1 and i.provider = 'password'
    ), before as (
      select from identity_subjects
      where app_id = $2 and provider = 'email' and subject = email_key($3) and user_id = $1
    ), gone as (
      delete from identity_subjects
      where user_id = $1 and provider = 'email' and subject <> email_key($3)
        and exists (select from own)
    ), claims as (
      delete from unconfirmed_emails where user_id = $1 and exists (select from own)
    ), identity as (
      update identities i set subject = email_key($3)
      from own where i.user_id = $1 and i.identity_id = own.identity_id
    ), subject as (
      insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
      select $2, 'email', email_key($3), $1, identity_id from own
      where not exists (select from before)
    ), mails as (
      delete from mail_tokens
      where user_id = $1 and purpose <> 'restore' and exists (select from own)
    ), changed as (
      update users set email = $3, email_verified = true, version = version + 1, updated_at = now()
      where user_id = $1 and exists (select from own)
    )
    select email, locale from own
    """
  )

  /// Gives a user without an address to log in with one, and the password.
  static let relink = Statement<NoRow, UserID, AppID, String, IdentityID, String>(
    "email_change.relink",
    """
    with missing as (
      select $1::text as user_id where not exists (
        select from identities where user_id = $1 and provider = 'password')
    ), password as (
      insert into passwords (user_id, hash) select user_id, $5 from missing
    ), anonymous as (
      update users u set anonymous = false from missing m where u.user_id = m.user_id
    )
    insert into identities (user_id, identity_id, app_id, provider, subject)
    select user_id, $4, $2, 'password', email_key($3) from missing
    """
  )

  package static let all: [any PreparedStatement] = [own, change, relink]
}
