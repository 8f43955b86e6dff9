import EventLoop
package import Postgres

/// Proving that an address is a user's.
package enum Emails {
  /// Mails what confirms the address, to each user that claims it with a password.
  ///
  /// Answers alike, and at once, whether or not somebody does.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.wayInClosed`, `.unavailable`.
  @EventLoop package static func requestConfirmation(
    of email: String,
    _ context: Context
  ) async throws(Failure) {
    try await request(.confirm, of: email, EmailQueries.unconfirmed, context)
  }

  /// Mails what lets its reader choose a new password.
  ///
  /// Answers alike, and at once, whether or not the address is anybody's.
  /// - Throws: as `requestConfirmation`.
  @EventLoop package static func requestReset(
    of email: String,
    _ context: Context
  ) async throws(Failure) {
    try await request(.reset, of: email, EmailQueries.holder, context)
  }

  @EventLoop private static func request(
    _ purpose: MailedToken.Purpose,
    of email: String,
    _ holders: Statement<String, AppID, String>,
    _ context: Context
  ) async throws(Failure) {
    try context.requireOpen(.password)
    guard context.store.mailer.isConfigured else { throw .mailNotConfigured }
    try await EmailAddress(email, context).limitMail(context)
    // What depends on whether there is such a user goes on after the answer.
    EventLoop.task {
      do throws(Failure) {
        for user in try await context.store.read(holders, context.app.id, email) {
          let mail = MailedToken(purpose, to: email, of: UserID(trusted: user), context)
          try await context.store.transaction { (transaction) async throws(DatabaseError) in
            try await mail.write(in: transaction)
          }
          mail.send()
        }
      } catch {
        context.store.mailer.lose("\(error)")
      }
    }
  }

  /// Confirms the address that a token was mailed to.
  ///
  /// Others who claimed it lose that way in.
  /// - Throws: `.invalidMailToken`, `.emailTaken` when another has confirmed it meanwhile,
  ///   `.unavailable`.
  @EventLoop package static func confirm(
    _ token: String,
    _ context: Context
  ) async throws(Failure) {
    _ = try await taking(.confirm, token, context) { (_, _) async throws(DatabaseError) in }
  }

  /// Sets a new password by a token that was mailed, which also confirms the address, and ends all
  /// sessions of the user.
  ///
  /// - Throws: `.invalid`, and as `confirm`.
  @EventLoop package static func reset(
    _ token: String,
    password: String,
    _ context: Context
  ) async throws(Failure) {
    if let fault = Credentials.fault(in: password, at: "/password", context.app.settings) {
      throw .invalid([fault])
    }
    guard Credential(.passwordReset, token, context.store.keys.master) != nil else {
      throw .invalidMailToken
    }
    let hash = try await context.store.passwords.hash(password)
    try await taking(.reset, token, context) { (user, transaction) async throws(DatabaseError) in
      _ = try await transaction.run(PasswordQueries.set, user, hash)
      _ = try await transaction.run(
        SessionsQueries.end,
        user,
        nil,
        nil,
        "password_reset",
        "anyone",
        context.origin.address,
        context.origin.agent
      )
      try await AuditEvent("password_reset", of: user, by: "anyone").record(
        in: transaction,
        context
      )
    }
  }

  /// Uses a token up, makes its address the user's, and does `body` in the same transaction.
  @EventLoop private static func taking(
    _ purpose: MailedToken.Purpose,
    _ text: String,
    _ context: Context,
    _ body: @EventLoop (UserID, Transaction) async throws(DatabaseError) -> Void
  ) async throws(Failure) {
    let master = context.store.keys.master
    guard let token = Credential(purpose.kind, text, master) else { throw .invalidMailToken }
    let user = token.owner(as: UserID.self)
    let isTaken: Bool
    do throws(Failure) {
      isTaken = try await context.store.transaction { transaction async throws(DatabaseError) in
        // Those who claim the address follow one another.
        _ = try await transaction.run(
          EmailQueries.lock,
          user,
          purpose.rawValue,
          token.hash(master),
          context.app.id
        )
        let taken = try await transaction.run(
          MailTokenQueries.take,
          user,
          purpose.rawValue,
          token.hash(master),
          context.app.id
        )
        guard let email = taken.first else { return false }
        let isNew = try await transaction.run(EmailQueries.confirm, user, context.app.id, email)
        guard let isNew = isNew.first else { return false }
        if isNew {
          try await AuditEvent("email_confirm", of: user, by: "anyone").record(
            in: transaction,
            context
          )
        }
        try await body(user, transaction)
        return true
      }
    } catch .identityTaken {
      throw .emailTaken
    }
    guard isTaken else { throw .invalidMailToken }
  }
}

package enum EmailQueries {
  /// Users who claim an address by their password identity and have not confirmed it.
  static let unconfirmed = Statement<String, AppID, String>(
    "emails.unconfirmed",
    """
    select e.user_id from unconfirmed_emails e
    where e.app_id = $1 and e.email_key = email_key($2)
    order by e.created_at desc limit 4
    """
  )

  /// Who may choose a new password: who has confirmed the address, else the newest to claim it.
  static let holder = Statement<String, AppID, String>(
    "emails.holder",
    """
    select p.user_id from (
      select user_id, 'infinity'::timestamptz as since from identity_subjects
      where app_id = $1 and provider = 'email' and subject = email_key($2)
      union all
      select user_id, created_at from unconfirmed_emails
      where app_id = $1 and email_key = email_key($2)
    ) h join passwords p using (user_id)
    order by h.since desc limit 1
    """
  )

  /// Locks the claims to the address that a token was mailed to.
  static let lock = Statement<String, UserID, String, BinaryBytes, AppID>(
    "emails.lock",
    """
    select e.user_id from mail_tokens t
    join unconfirmed_emails e on e.app_id = $4 and e.email_key = email_key(t.email)
    where t.user_id = $1 and t.purpose = $2 and t.token_hash = $3
    order by e.user_id for update of e
    """
  )

  /// Makes an address the user's, and nobody else's; whether it was not before.
  ///
  /// No row when the user has no password any more: who had the address confirmed took it away.
  /// Fails by `identity_subjects_taken` when that happens at the same moment.
  static let confirm = Statement<Bool, UserID, AppID, String>(
    "emails.confirm",
    """
    with own as (
      select identity_id from identities where user_id = $1 and provider = 'password'
    ), before as (
      select user_id from identity_subjects
      where app_id = $2 and provider = 'email' and subject = email_key($3) and user_id = $1
    ), claimed as (
      insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
      select $2, 'email', email_key($3), $1, identity_id from own
      where not exists (select from before)
    ), rivals as (
      delete from unconfirmed_emails
      where app_id = $2 and email_key = email_key($3) and exists (select from own)
      returning user_id
    ), lost as (
      delete from identities i using rivals r
      where i.user_id = r.user_id and i.user_id <> $1 and i.provider = 'password'
    ), cleared as (
      delete from passwords p using rivals r where p.user_id = r.user_id and p.user_id <> $1
    ), mails as (
      delete from mail_tokens m using rivals r where m.user_id = r.user_id and m.user_id <> $1
    ), changed as (
      update users u set email = case when u.user_id = $1 then $3 end,
        email_verified = u.user_id = $1, version = u.version + 1, updated_at = now()
      where u.user_id = $1 and exists (select from own) and not exists (select from before)
        or u.user_id in (select user_id from rivals where user_id <> $1)
    )
    select not exists (select from before) from own
    """
  )

  package static let all: [any PreparedStatement] = [unconfirmed, holder, lock, confirm]
}
