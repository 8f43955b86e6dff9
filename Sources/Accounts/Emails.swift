import Delivery
import EventLoop
import IdentitySubjects
import JSON
import Postgres
import RateLimiting
package import Runtime
package import Sessions
import Tenancy

/// Verifies, changes and restores addresses, and resets passwords by mail.
package enum Emails {
  /// Mails a token that lets its reader choose a new password.
  ///
  /// The response is the same, and as fast, for an address of no user.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func requestReset(
    of email: String, _ context: RequestContext
  ) async throws(Failure) {
    try await AccountMail.request(.reset, email, context)
  }

  /// Mails a code that sets a new password, from the network that asked for it.
  ///
  /// The response is the same, and as fast, for an address of no user.
  /// - Throws: as `requestReset`; `.invalid`.
  @EventLoop package static func requestResetCode(
    of email: String, digits: Int, _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try EmailAddress.check(email, context)
    try await RequestLimiter.resetCode(context)
    let (address, _) = try await AccountMail.prepare(to: email, context)
    let flow = AuthenticationFlow.New(.networkReset, email, address, digits: digits)
    try await context.transaction { transaction async throws(Failure) in
      flow.write(in: transaction)
      try AccountMail.request(.reset, email, address, code: flow.shownCode, in: transaction)
    }
  }

  /// Sets a new password by such a code, as `reset` does, without a sign-in.
  ///
  /// - Throws: as `reset`; `.invalidCode`, `.tooManyAttempts`.
  @EventLoop package static func reset(
    byCode code: String, password: String, _ context: RequestContext
  ) async throws(Failure) {
    try context.requireOpen(.password)
    try await Credentials.check(password, of: nil, context)
    let flow = try await AuthenticationFlow.ofNetwork(code, for: .networkReset, context)
    try await Credentials.check(password, of: flow.email, context)
    let hash = try await context.passwords.hash(password, for: context.owner)
    guard let user = try await Accounts.latestHolder(of: flow.address, context) else {
      throw .invalidCode
    }
    try await set(hash, of: user, at: flow.address, context) { transaction async throws(Failure) in
      _ = transaction.send(SessionsQueries.lockUser, user)
      let account = try await Accounts.find(flow.address, of: user, in: transaction)
      guard let account, !account.isBlocked else { throw .invalidCode }
      try await flow.use(in: transaction)
      return account
    }
  }

  /// Sets a new password by a mailed token, and signs in.
  ///
  /// It ends the sessions, API keys and places on devices of the user, and forgets the failed logins
  /// of the address. An account that was not verified before is taken over.
  /// - Returns: the session.
  /// - Throws: `.invalid`, `.invalidMailToken`, `.wrongCredentials` if another request replaced the
  ///   new password before the sign-in, `.additionalFactorRequired` (the password is set),
  ///   `.deviceUnknown` and `.deviceFull` (the token stays valid), `.loginMethodDisabled`,
  ///   `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func reset(
    _ text: String, password: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let credential = try await setPassword(text, password, context)
    return try await SignIn.complete(credential, as: style, context)
  }

  /// Sets a new password by a mailed token, as `reset` does, without a sign-in.
  ///
  /// - Throws: as `reset`.
  @EventLoop package static func resetOnly(
    _ text: String, password: String, _ context: RequestContext
  ) async throws(Failure) {
    _ = try await setPassword(text, password, context)
  }

  @EventLoop private static func setPassword(
    _ text: String, _ password: String, _ context: RequestContext
  ) async throws(Failure) -> VerifiedCredential {
    let (token, hash) = try await choose(password, by: text, for: .reset, context)
    let (user, verifies) = (token.user, token.subject.verifies)
    try await set(hash, of: user, at: token.address, verifies: verifies, context) {
      transaction async throws(Failure) in try await token.useForAccount(in: transaction)
    }
    var credential = VerifiedCredential(of: token.user, .password(hash: hash))
    credential.readAddress = verifies ? token.address.key : nil
    return credential
  }

  /// Sets the password of a user.
  ///
  /// - Parameters:
  ///   - hash: the hash of the password.
  ///   - user: the user.
  ///   - address: the address of the mail.
  ///   - verifies: whether the mailed token or code proves the address.
  ///   - context: the context of the request.
  ///   - use: uses the token or code up, and returns the account.
  /// - Throws: errors of `use`, `.invalidMailToken`, `.databaseUnavailable`.
  @EventLoop private static func set(
    _ hash: String, of user: UserID, at address: EmailAddress, verifies: Bool = true,
    _ context: RequestContext, _ use: @EventLoop (Transaction) async throws(Failure) -> Account
  ) async throws(Failure) {
    _ = try await Devices.admit(user, context)
    try await context.transaction { transaction async throws(Failure) in
      let account = try await use(transaction)
      if account.isTakenOverByMail, verifies {
        try await Takeover.run(of: user, address, in: transaction)
      } else {
        if !account.isCredential {
          guard verifies else { throw .invalidMailToken }
          // The password needs an identity with the address.
          try await Accounts.markVerified(address, of: user, in: transaction)
        }
        try await Users.revoke(of: user, "password_reset", in: transaction)
      }
      try await Users.store(hash, of: user, in: transaction)
      let domain = context.app.passkeySettings.openDomain
      let left = try await transaction.run(CredentialQueries.passkeyCount, user, domain).first
      try await SecurityNotice.passwordReset(passkeys: left ?? 0).record(of: user, in: transaction)
      try await RateLimits.sendForget(of: address.key, user, in: transaction)()
    }
  }

  /// Checks and hashes a new password that comes with a mailed token, which stays valid.
  ///
  /// - Throws: `.invalid`, `.invalidMailToken`, `.loginMethodDisabled`, `.overloaded`,
  ///   `.databaseUnavailable`.
  @EventLoop static func choose(
    _ password: String, by text: String, for purpose: EmailToken.Purpose, _ context: RequestContext
  ) async throws(Failure) -> (PresentedEmailToken, hash: String) {
    // An address can be restored in an app without passwords, too.
    if purpose == .reset { try context.requireOpen(.password) }
    // Also before the token is read: without a token the response to a password is the same.
    try await Credentials.check(password, of: nil, context)
    let token = try await PresentedEmailToken(text, for: purpose, context)
    try await Credentials.check(password, of: token.subject.email, context)
    return (token, try await context.passwords.hash(password, for: context.owner))
  }
}

extension Emails {
  /// Mails a token that verifies an address.
  ///
  /// The response is the same, and as fast, for an address of no user.
  /// - Throws: `.mailNotConfigured`, `.tooManyAttempts`, `.loginMethodDisabled`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func requestVerification(
    of email: String, _ context: RequestContext
  ) async throws(Failure) {
    try await AccountMail.request(.verify, email, context)
  }

  /// Verifies an address by a mailed token and a session of its user, or the password.
  ///
  /// The token alone changes nothing: the reader of the mail may not have made the account. A
  /// verification revokes nothing.
  /// - Parameters:
  ///   - text: the token.
  ///   - password: the password of the user; nil without one.
  ///   - style: the style of the session that the password creates.
  ///   - context: the context of the request.
  /// - Returns: a new session; nil if the session of the request has verified it.
  /// - Throws: `.invalidMailToken`, `.signInToVerify` (the token stays valid), `.wrongCredentials`,
  ///   `.additionalFactorRequired`, `.tooManyAttempts`, `.loginMethodDisabled`, `.sessionEnded`,
  ///   `.deviceUnknown`, `.deviceFull`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func verify(
    _ text: String, password: String?, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession? {
    let token = try await PresentedEmailToken(text, for: .verify, context)
    if let user = context.principal.user, user == token.user {
      try await context.transaction { transaction async throws(Failure) in
        try await Sessions.lockUser(user, in: transaction)
        try await verify(token, in: transaction)
      }
      return nil
    }
    guard let password else { throw .signInToVerify }
    try context.requireOpen(.password)
    // Counted by the user and not by the address, for which strangers can cause failures.
    let limiter = Users.passwordLimiter(of: token.user, context)
    let isRight = try await limiter.attempt { () async throws(Failure) in
      let isRight = try await context.passwords.verify(
        password, against: token.subject.hash, for: context.owner
      )
      if !isRight { try await Users.recordFailure(of: token.user, context) }
      return isRight
    }
    guard isRight, let hash = token.subject.hash else { throw .wrongCredentials }
    return try await SignIn.complete(
      VerifiedCredential(of: token.user, .password(hash: hash)), countedBy: limiter, as: style,
      context
    ) { transaction async throws(Failure) in
      try await verify(token, in: transaction)
      return { () async throws(Failure) in }
    }
  }

  /// Verifies an address by a mailed token alone, for a protocol that sends nothing else.
  ///
  /// The address counts as verified by mail only: the next reset or code takes the account over.
  /// - Parameters:
  ///   - text: the token.
  ///   - knowsPassword: whether the client has just shown the password of the user, so that the
  ///     address counts as verified by its user.
  ///   - context: the context of the request.
  /// - Throws: `.invalidMailToken`, `.databaseUnavailable`.
  @EventLoop package static func verifyByReader(
    _ text: String, knowsPassword: Bool = false, _ context: RequestContext
  ) async throws(Failure) {
    let token = try await PresentedEmailToken(text, for: .verify, context)
    try await context.transaction { transaction async throws(Failure) in
      try await verify(token, byReader: !knowsPassword, in: transaction)
    }
  }

  @EventLoop private static func verify(
    _ token: PresentedEmailToken, byReader isReader: Bool = false, in transaction: Transaction
  ) async throws(Failure) {
    let account = try await token.useForAccount(in: transaction)
    guard account.isTakenOverByMail else { return }
    try await Accounts.verify(token.address, of: token.user, byReader: isReader, in: transaction)
    try await RateLimits.sendForget(of: token.address.key, token.user, in: transaction)()
  }
}

/// Changes the address of a user, or adds the first one, once the code that was mailed to the new
/// address is entered.
extension Emails {
  /// Mails a code to a new address; the code makes it the caller's address.
  ///
  /// - Returns: the flow, which the client sends with the code.
  /// - Throws: `.invalid`, `.noEmail` for a guest, who links an address, `.emailTaken` unless the
  ///   app's setting `sign_up` is `verify_first`, `.emailRestorePending`, `.mailNotConfigured`,
  ///   `.tooManyAttempts`, `.tooManyRequests`, `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func requestChange(
    to email: String, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> String {
    try EmailAddress.check(email, context)
    try context.mailer.requireConfigured()
    let address = try await EmailAddress(email, context)
    let found = try await context.read(EmailChangeQueries.own, user, context.principal)
    guard let own = found.first else { throw context.gone }
    guard !own.isOfGuest else { throw .noEmail }
    if let present = own.key ?? own.address, present.hasSameBytes(as: address.key) {
      throw .invalid([FieldError("/email", "same", "The user already has this address.")])
    }
    if own.key == nil { try await Identities.requireNoRestore(of: user, context) }
    try await RateLimits.countChange(of: user, context)
    // The response may reveal that a user has the address, as that of a registration does.
    try await RequestLimiter.registration(of: address.key, context)
    let account = try await Accounts.find(address, context)
    if account != nil, context.app.accountSettings.signUp != .verifyFirst { throw .emailTaken }
    try await RequestLimiter.mail(to: address.key, for: nil, context)
    let flow = AuthenticationFlow.New(.changeEmail, email, address, user: user)
    return try await AccountMail.begin(flow, takenBy: account, in: own.language, context)
  }

  /// Replaces the caller's address by its mailed code, and mails a restore link to the old address.
  ///
  /// Only a verified address can be restored. It stays reserved for the user while the link is valid.
  /// A user without an address gets the first one, and can sign in with it.
  /// - Throws: `.invalidCode`, `.emailTaken`, `.emailRestorePending`, `.sessionEnded`,
  ///   `.databaseUnavailable`.
  @EventLoop package static func change(
    _ code: String, _ flow: String, of user: UserID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.requireSession(of: user)
    let flow = try await AuthenticationFlow(code, flow, for: [.changeEmail], context)
    guard flow.user == user else { throw .invalidCode }
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      try await Identities.requireNoRestore(of: user, in: transaction)
      try await flow.use(in: transaction)
      let before = try await replace(by: flow.address, flow.email, of: user, in: transaction)
      Event("email_change", of: user).record(in: transaction)
      guard let old = before.email else { return }
      EmailToken(.restore, to: old, of: user, in: before.language, context)
        .queue(in: transaction)
    }
  }

  /// Replaces the address of a user, by default by one that a mail has verified.
  ///
  /// By a mail, a user who does not sign in by an address can do so from now on.
  /// - Returns: the former address, if it was verified.
  /// - Throws: `.emailTaken`, `.noEmail` if the user does not sign in by an address, and no mail has
  ///   verified the new one; `.databaseUnavailable`.
  @EventLoop package static func replace(
    by address: EmailAddress, _ email: String, _ origin: NewEmailOrigin = .mail, of user: UserID,
    in transaction: Transaction
  ) async throws(Failure) -> FormerEmail {
    let key = address.key
    let found = try await transaction.run(EmailChangeQueries.former, user, key)
    guard let former = found.first, former.identity != nil || origin == .mail else {
      throw .noEmail
    }
    let identity = former.identity ?? IdentityID()
    let taken = Accounts.sendTaking(
      address, for: user, identity, assigned: origin != .mail, in: transaction
    )
    if let old = former.address, !former.isSame {
      let isReserved = former.wasVerified && origin == .mail
      Subjects.release(email: old, reserved: isReserved, of: user, in: transaction)
    }
    if former.identity == nil {
      let app = transaction.app.id
      _ = transaction.send(CredentialRowQueries.addIdentity, user, identity, app, .email, key)
    } else {
      _ = transaction.send(
        EmailChangeQueries.setSubject, user, identity, key, origin != .unverified, origin == .mail
      )
    }
    let isVerified = origin != .unverified || former.isSame && former.wasVerified
    _ = transaction.send(EmailChangeQueries.change, user, EmailAddress.canonical(email), isVerified)
    try await taken()
    return former.email
  }

  /// Restores a former address of a user by a mailed token, with a new password.
  ///
  /// The person who changed the address could sign in. So all other credentials are revoked. Second
  /// factors stay that are older than the change. A mail informs the displaced address.
  /// - Returns: a new session.
  /// - Throws: `.invalid`, `.invalidMailToken`, `.emailTaken`, `.wrongCredentials` if another
  ///   request replaced the new password before the sign-in, `.additionalFactorRequired` (the address
  ///   is restored), `.deviceUnknown` and `.deviceFull` (the token stays valid),
  ///   `.loginMethodDisabled`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func restore(
    _ text: String, password: String, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let (token, hash) = try await choose(password, by: text, for: .restore, context)
    let user = token.user
    let takesPassword = context.app.accountSettings.isOpen(.password)
    _ = try await Devices.admit(user, context)
    try await context.transaction { transaction async throws(Failure) in
      let changedAt = try await token.use(in: transaction)
      let notice = try await SecurityNotice.emailDisplaced.notice(of: user, in: transaction)
      let email = token.subject.email
      let before = try await replace(by: token.address, email, of: user, in: transaction)
      if before.email != nil { notice.queue(in: transaction) }
      if takesPassword {
        try await Users.store(hash, of: user, in: transaction)
      } else {
        _ = transaction.send(PasswordQueries.remove, user)
      }
      try await Takeover.revokeAll(of: user, factorsSince: changedAt, in: transaction)
      try await SecurityNotice.emailRestored.record(of: user, in: transaction)
      try await RateLimits.sendForget(of: token.address.key, token.user, in: transaction)()
    }
    return try await SignIn.complete(
      VerifiedCredential(
        of: user, takesPassword ? .password(hash: hash) : .email(key: token.address.key)
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
  let key: String?
  let language: String?
  /// The key of the address of the user, which an issuer or an import may have named.
  let address: String?
  /// Whether the user has no credentials but API keys.
  let isOfGuest: Bool

  init(from row: Row) throws(DatabaseError) {
    key = row.text(ifAny: 0)
    language = row.text(ifAny: 1)
    address = row.text(ifAny: 2)
    isOfGuest = try row.bool(3)
  }
}

/// The former address of a user.
package struct FormerEmail {
  /// Nil if it was not verified, or is the new one.
  package let email: String?
  let language: String?
}

/// The address of a user that is about to be replaced.
struct FormerIdentity: RowDecodable {
  /// The identity by which the user signs in with an address; nil without one.
  let identity: IdentityID?
  /// Whether the new address is the same, perhaps in another spelling.
  let isSame: Bool
  let wasVerified: Bool
  let email: FormerEmail
  /// The key of the former address; nil if the user had none.
  let address: String?

  init(from row: Row) throws(DatabaseError) {
    identity = row.id(ifAny: 0)
    isSame = try row.bool(1)
    wasVerified = try row.bool(2)
    email = FormerEmail(
      email: wasVerified && !isSame ? row.text(ifAny: 3) : nil, language: row.text(ifAny: 4)
    )
    address = row.text(ifAny: 5)
  }
}

package enum EmailChangeQueries {
  /// Returns one row if the session is live.
  static let own = Statement<OwnEmail, UserID, Principal>(
    "email_change.own",
    """
    select i.subject, c.locale, email_key(c.email), not exists (
        select 1 from identities o
        where o.user_id = $1 and o.provider not in ('anonymous', 'api-key'))
    from users c
    left join identities i on i.user_id = $1 and i.provider in ('password', 'email')
    where \(.isAuthorized)
    """)

  /// - Parameter 2: the key of the new address.
  static let former = Statement<FormerIdentity, UserID, String>(
    "email_change.former",
    """
    select i.identity_id, email_key(u.email) is not distinct from $2, u.email_verified, u.email,
      u.locale, email_key(u.email)
    from users u
    left join identities i on i.user_id = $1 and i.provider in ('password', 'email')
    where u.user_id = $1
    """)

  /// - Parameter 4: whether the address is verified.
  /// - Parameter 5: whether a mail has verified it.
  static let setSubject = Statement<NoRow, UserID, IdentityID, String, Bool, Bool>(
    "email_change.set_subject",
    """
    update identities set subject = $3,
      verified_via_mail_only = case when $5::boolean then false
        when subject = $3 then verified_via_mail_only else $4::boolean end
    where user_id = $1 and identity_id = $2
    """)

  /// Sets the address of a user.
  ///
  /// Mailed tokens become invalid, except those that restore an address.
  static let change = Statement<NoRow, UserID, String, Bool>(
    "email_change.change",
    """
    with mails as (
      delete from mail_tokens where user_id = $1 and purpose <> 'restore'
    ), flows as (
      delete from authentication_flows where place = $1 and purpose = 'change_email'
    )
    update users set email = btrim($2), anonymous = false, version = version + 1,
      email_verified = $3, updated_at = now()
    where user_id = $1
    """)
}
