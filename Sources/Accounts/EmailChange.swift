import Delivery
package import Runtime
package import Sessions
import EventLoop
import JSON
package import Postgres

/// Changes the address of a user, once the code that was mailed to the new address is entered.
extension Emails {
  /// Mails a code to a new address; the code makes it the caller's address.
  ///
  /// - Returns: the flow, which the client sends with the code.
  /// - Throws: `.invalid`, `.noEmail`, `.emailTaken` unless the app's setting `sign_up` is
  ///   `verify_first`, `.mailNotConfigured`, `.tooManyAttempts`, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func requestChange(
    to email: String,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> String {
    try EmailAddress.check(email, context)
    guard context.mailer.isConfigured else { throw .mailNotConfigured }
    let address = try await EmailAddress(email, context)
    try address.requireMail(email)
    let found = try await context.read(EmailChangeQueries.own, user, context.principal)
    guard let own = found.first else { throw context.gone }
    guard let key = own.key else { throw .noEmail }
    guard !key.hasSameBytes(as: address.key) else {
      throw .invalid([Fault("/email", "same", "This is the address that the user has.")])
    }
    // The response may reveal that a user has the address, as that of a registration does.
    try await RequestLimiter.registration(of: address.key, context)
    let account = try await Accounts.find(address, context)
    if account != nil, context.app.accountSettings.signUp != .verifyFirst { throw .emailTaken }
    try await RequestLimiter.mail(to: address.key, for: nil, context)
    let flow = AuthenticationFlow.New(.changeEmail, email, address, user: user)
    try await context.transaction { transaction async throws(Failure) in
      try await flow.write(in: transaction, context)
      if let account {
        try await AccountMail.sendTaken(to: account, in: transaction, context)
      } else {
        try await AccountMail.sendCode(of: flow, in: own.language, in: transaction, context)
      }
    }
    return flow.text(context)
  }

  /// Replaces the caller's address by its mailed code, and mails a restore link to the old address.
  ///
  /// Only a verified address can be restored. It stays reserved for the user while the link is valid.
  /// - Throws: `.invalidCode`, `.emailTaken`, `.noEmail`, `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func change(
    _ code: String,
    _ flow: String,
    of user: UserID,
    _ context: RequestContext
  ) async throws(Failure) {
    try await context.requireSession(of: user)
    let flow = try await AuthenticationFlow(code, flow, for: [.changeEmail], context)
    guard flow.user == user else { throw .invalidCode }
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction, context)
      try await flow.use(in: transaction, context)
      let before = try await replace(
        by: flow.address,
        flow.email,
        of: user,
        in: transaction,
        context
      )
      try await Event("email_change", of: user).record(in: transaction, context)
      guard let old = before.email else { return }
      try await EmailToken(.restore, to: old, of: user, in: before.language, context)
        .queue(in: transaction)
    }
  }

  /// Replaces the address of a user, by default by one that a mail has verified.
  ///
  /// - Returns: the former address, if it was verified.
  @EventLoop static func replace(
    by address: EmailAddress,
    _ email: String,
    _ origin: NewEmailOrigin = .mail,
    of user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) -> FormerEmail {
    let rows = try await transaction.send(
      EmailChangeQueries.change,
      user,
      context.app.id,
      address.stored(email),
      address.key,
      origin != .unverified,
      origin == .mail
    ).rows(undone: .emailTaken)
    guard let before = rows.first else { throw .noEmail }
    return before
  }

  /// Restores a former address of a user by a mailed token, with a new password.
  ///
  /// The person who changed the address could sign in. So all other credentials are revoked. Second
  /// factors stay that are older than the change. A mail informs the displaced address.
  /// - Returns: the tokens of a new session.
  /// - Throws: `.invalid`, `.invalidMailToken`, `.emailTaken`, `.additionalFactorRequired` (the
  ///   address is restored), `.deviceUnknown` and `.deviceFull` (the token stays valid),
  ///   `.loginMethodDisabled`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func restore(
    _ text: String,
    password: String,
    as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    let (token, hash) = try await choose(password, by: text, for: .restore, context)
    let user = token.user
    let takesPassword = context.app.accountSettings.isOpen(.password)
    _ = try await Devices.admit(user, context)
    try await context.transaction { transaction async throws(Failure) in
      let changedAt = try await token.use(in: transaction, context)
      let notice = try await SecurityNotice.emailDisplaced.notice(
        of: user,
        in: transaction,
        context
      )
      // The address may have been unlinked.
      _ = try await transaction.run(
        EmailChangeQueries.relink,
        user,
        context.app.id,
        token.address.key,
        IdentityID()
      )
      let before = try await replace(
        by: token.address,
        token.email,
        of: user,
        in: transaction,
        context
      )
      if before.email != nil { try await notice.queue(in: transaction) }
      if takesPassword {
        _ = try await transaction.run(PasswordQueries.set, user, hash)
      } else {
        _ = try await transaction.run(PasswordQueries.remove, user)
      }
      try await Takeover.revokeAll(of: user, factorsSince: changedAt, in: transaction, context)
      try await SecurityNotice.emailRestored.record(ofReader: user, in: transaction, context)
      try await Attempts.sendForget(of: token.address.key, context, in: transaction)()
    }
    return try await SignIn.complete(
      VerifiedCredential(
        of: user,
        takesPassword ? .password(hash: hash) : .email(key: token.address.key)
      ),
      as: style,
      context
    )
  }
}

/// How a new address of a user is known.
package enum NewEmailOrigin {
  /// A mail to it has verified it.
  case mail
  /// A back end says that it is verified.
  case backEnd
  case unverified
}

/// The address by which a user signs in.
struct OwnEmail: RowDecodable {
  /// Nil for a user without one.
  package let key: String?
  let language: String?

  init(from row: Row) throws(DatabaseError) {
    key = row.text(ifAny: 0)
    language = row.text(ifAny: 1)
  }
}

/// The former address of a user.
struct FormerEmail: RowDecodable {
  /// Nil if it was not verified, or is the new one.
  package let email: String?
  let language: String?

  init(from row: Row) throws(DatabaseError) {
    email = row.text(ifAny: 0)
    language = row.text(ifAny: 1)
  }
}

package enum EmailChangeQueries {
  /// Returns one row if the session is live.
  static let own = Statement<OwnEmail, UserID, Principal>(
    "email_change.own",
    """
    select i.subject, c.locale from users c
    left join identities i on i.user_id = $1 and i.provider in ('password', 'email')
    where \(.isAuthorized)
    """
  )

  /// Replaces the address of a user.
  ///
  /// Returns no row if the user had none. Undoes the transaction if another user has the new one.
  /// Mailed tokens become invalid, except those that restore an address. The same address in another
  /// spelling stays verified.
  /// - Parameter 5: whether it is verified.
  /// - Parameter 6: whether a mail has verified it. Then a token restores a former address that was
  ///   verified, which stays reserved as long as the token is valid.
  static let change = Statement<FormerEmail, UserID, AppID, String, String, Bool, Bool>(
    "email_change.change",
    """
    with own as (
      select i.identity_id, i.subject, u.email_verified, case when u.email_verified and i.subject <> $4
        then u.email end as email, u.locale
      from identities i join users u on u.user_id = i.user_id
      where i.user_id = $1 and i.provider in ('password', 'email')
    ), reserved as (
      update identity_subjects s set reserved_until = now() + interval '7 days'
      from own where s.user_id = $1 and s.provider = 'email' and s.subject <> $4
        and s.reserved_until is null and own.email_verified and $6::boolean
    ), gone as (
      delete from identity_subjects s using own
      where s.user_id = $1 and s.provider = 'email' and s.subject <> $4
        and s.reserved_until is null and not (own.email_verified and $6::boolean)
    ), identity as (
      update identities i set subject = $4,
        proved_by_reader = case when $6::boolean then false
          when own.subject = $4 then i.proved_by_reader else $5::boolean end
      from own where i.user_id = $1 and i.identity_id = own.identity_id
    ), subject as (
      insert into identity_subjects as s (app_id, provider, subject, user_id, identity_id)
      select $2, 'email', $4, $1, identity_id from own
      on conflict (app_id, provider, subject) do update
        set user_id = excluded.user_id, identity_id = excluded.identity_id, reserved_until = null
        where s.user_id = excluded.user_id or s.reserved_until < now()
      returning 1
    ), mails as (
      delete from mail_tokens
      where user_id = $1 and purpose <> 'restore' and exists (select 1 from own)
    ), flows as (
      delete from authentication_flows where user_id = $1 and purpose = 'change_email'
    ), changed as (
      update users set email = btrim($3), anonymous = false, version = version + 1,
        email_verified = $5::boolean or email_verified and exists (
          select 1 from own where subject = $4),
        updated_at = now()
      where user_id = $1 and exists (select 1 from own)
    )
    select email, locale from own
    where require((select count(*) from subject) = (select count(*) from own))
    """
  )

  /// Gives a user who does not sign in by an address an identity with one.
  static let relink = Statement<NoRow, UserID, AppID, String, IdentityID>(
    "email_change.relink",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject)
    select $1::text, $4, $2, 'email', $3 where not exists (
      select 1 from identities where user_id = $1::text and provider in ('password', 'email'))
    """
  )

  package static let all: [any PreparedStatement] = [own, change, relink]
}
