import Delivery
import EventLoop
import IdentitySubjects
import JSON
import Postgres
package import Runtime
import Tenancy

/// The user of an address, and what a sign-in needs to know of it.
struct Account: RowDecodable {
  let user: UserID
  /// As the user wrote the address.
  let email: String
  /// The hash of the password; nil without one.
  let hash: String?
  let isVerified: Bool
  /// Whether the address is verified by a mailed token alone, without a password or a session.
  let isVerifiedByReader: Bool
  let isBlocked: Bool
  let language: String?
  /// Whether the user signs in by the address; false if only an issuer or an import has named it.
  let isCredential: Bool

  init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    email = try row.text(1)
    hash = row.text(ifAny: 2)
    isVerified = try row.bool(3)
    isVerifiedByReader = try row.bool(4)
    isBlocked = try row.bool(5)
    language = row.text(ifAny: 6)
    isCredential = try row.bool(7)
  }

  /// Whether a reset or a mailed code takes the account over.
  ///
  /// An attacker may have made the account, and may know its password.
  var isTakenOverByMail: Bool { !isVerified || isVerifiedByReader }
  /// The user, if it is certain that the address is the user's own.
  ///
  /// A stranger who has registered the address has known devices and networks too.
  var owner: UserID? { isTakenOverByMail ? nil : user }
}

/// Finds and makes the users of addresses; one address belongs to one user.
package enum Accounts {
  /// Returns the user of an address; nil without one.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func holder(
    of address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    try await context.first(SubjectQueries.holder, context.app.id, .email, address.key)
  }

  /// Returns the user of an address from the latest commit; nil without one.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop static func latestHolder(
    of address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> UserID? {
    let (holder, app) = (SubjectQueries.holder, context.app.id)
    return try await context.read(holder, app, .email, address.key, on: .exclusive).first
  }

  /// Returns who has an address, and whether it is certain that the address is that user's own.
  ///
  /// - Returns: nil if no user has it.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func owner(
    of address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> (user: UserID, isCertain: Bool)? {
    try await find(address, context).map { ($0.user, $0.owner != nil) }
  }

  /// Returns the account of an address; nil without one.
  ///
  /// An address without a user takes as long.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop static func find(
    _ address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> Account? {
    let holder = try await holder(of: address, context) ?? UserID()
    return try await context.first(AccountQueries.read, holder, address.key)
  }

  /// Returns the account of an address by which a user signs in with a password; nil without one.
  ///
  /// The address may be a linked one.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop static func findSigner(
    _ address: EmailAddress, _ context: RequestContext
  ) async throws(Failure) -> Account? {
    let signer = try await context.first(SubjectQueries.signer, context.app.id, address.key)
    return try await context.first(AccountQueries.readSigner, signer ?? UserID(), address.key)
  }

  /// Returns the account of a locked user; nil if it has another address by now.
  @EventLoop static func find(
    _ address: EmailAddress, of user: UserID, in transaction: Transaction
  ) async throws(Failure) -> Account? {
    try await transaction.run(AccountQueries.read, user, address.key).first
  }

  /// Gives an address to a user, by one of its identities, without waiting.
  ///
  /// - Returns: a function that waits, and throws `.emailTaken` if another user has the address.
  @EventLoop static func sendTaking(
    _ address: EmailAddress, for user: UserID, _ identity: IdentityID, assigned: Bool = false,
    in transaction: Transaction
  ) -> Completion {
    let taken = transaction.send(
      SubjectQueries.takeAddress, transaction.app.id, address.key, user, identity,
      ServerTime(), assigned
    )
    return { () async throws(Failure) in try await taken.rows(undone: .emailTaken) }
  }

  /// Marks the address of a user as verified, records it and mails it.
  @EventLoop package static func verify(
    _ address: EmailAddress, of user: UserID, byReader isReader: Bool, in transaction: Transaction
  ) async throws(Failure) {
    try await markVerified(address, of: user, byReader: isReader, in: transaction)
    try await SecurityNotice.emailVerified.record(of: user, in: transaction)
  }

  /// Marks the address of a user as verified, and gives the user an identity with it.
  @EventLoop static func markVerified(
    _ address: EmailAddress, of user: UserID, byReader isReader: Bool = false,
    in transaction: Transaction
  ) async throws(Failure) {
    let own = try await transaction.run(AccountQueries.proveIdentity, user, isReader)
    let (app, key) = (transaction.app.id, address.key)
    let identity = own.first ?? IdentityID()
    if own.isEmpty {
      _ = transaction.send(AccountQueries.addIdentity, user, app, key, identity, isReader)
    }
    _ = transaction.send(AccountQueries.setIdentity, user, app, key, identity)
    try await transaction.send(AccountQueries.verify, user).rows()
  }
}

package enum AccountQueries {
  /// Returns the account of a user; no row if the user has another address by now.
  ///
  /// Served by the primary keys.
  static let read = Statement<Account, UserID, String>(
    "accounts.read",
    """
    select u.user_id, u.email, p.hash, u.email_verified,
      coalesce(i.verified_via_mail_only, false), u.blocked_at is not null, u.locale,
      i.identity_id is not null
    from users u
    left join passwords p on p.user_id = $1
    left join identities i on i.user_id = $1 and i.provider in ('password', 'email')
      and i.subject = $2
    where u.user_id = $1 and email_key(u.email) = $2
    """)

  /// Does as `read`, and also finds a linked address, with the password of that.
  ///
  /// A linked address was verified before the link.
  static let readSigner = Statement<Account, UserID, String>(
    "accounts.read_signer",
    """
    select u.user_id, case when l.user_id is null then u.email else l.subject end,
      case when l.user_id is null then p.hash else l.password_hash end,
      u.email_verified or l.user_id is not null,
      coalesce(i.verified_via_mail_only, false), u.blocked_at is not null, u.locale,
      i.identity_id is not null or l.identity_id is not null
    from users u
    left join passwords p on p.user_id = $1
    left join identities i on i.user_id = $1 and i.provider in ('password', 'email')
      and i.subject = $2
    left join identities l on l.user_id = $1 and l.provider = 'linked-password'
      and l.subject = $2
    where u.user_id = $1 and (email_key(u.email) = $2 or l.identity_id is not null)
    """)

  static let create = Statement<NoRow, UserID, AppID, String, Bool>(
    "accounts.create",
    """
    insert into users (user_id, app_id, anonymous, email, email_verified)
    values ($1, $2, false, btrim($3), $4)
    """)

  /// Returns the identity by which a user signs in with an address; no row without one.
  ///
  /// - Parameter 2: whether the address is verified by a mailed token alone.
  static let proveIdentity = Statement<IdentityID, UserID, Bool>(
    "accounts.prove_identity",
    """
    update identities set verified_via_mail_only = $2
    where user_id = $1 and provider in ('password', 'email')
    returning identity_id
    """)

  static let addIdentity = Statement<NoRow, UserID, AppID, String, IdentityID, Bool>(
    "accounts.add_identity",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject, verified_via_mail_only)
    values ($1, $4, $2, 'email', $3, $5)
    """)

  /// Sets the identity of an address of the user.
  static let setIdentity = Statement<NoRow, UserID, AppID, String, IdentityID>(
    "accounts.set_identity",
    """
    update identity_subjects set identity_id = $4
    where app_id = $2 and provider = 'email' and subject = $3 and user_id = $1
    """)

  static let verify = Statement<NoRow, UserID>(
    "accounts.verify",
    """
    with mails as (delete from mail_tokens where user_id = $1 and purpose = 'verify')
    update users set email_verified = true, anonymous = false, version = version + 1,
      updated_at = now()
    where user_id = $1
    """)
}

extension Failure {
  /// The token of a mail is malformed, used up, expired or replaced by a newer one.
  package static let invalidMailToken = Failure("mail_token_invalid", .malformed)
    .titled("The token from the email is wrong, used or expired.")
    .remedied(
      "Request another email. A token works once. It expires after a day, after an hour if it "
        + "resets a password, or after 7 days if it restores an address. Only the tokens of the "
        + "newest 50 emails are valid."
    )
  /// The token of a mail is valid, but comes with neither a session of the user nor the password.
  package static let signInToVerify = Failure("sign_in_to_verify", .unauthenticated)
    .titled("The token alone does not verify the address.")
    .remedied(
      "Send the token of the email together with the member password, or with an access token of "
        + "the user. The token of the email stays valid."
    )
  package static let loginMethodDisabled = Failure("login_method_disabled", .forbidden)
    .titled("The app does not allow this login method.")
    .remedied("Enable the login method with dossier app set.")
  package static let signUpClosed = Failure("sign_up_closed", .forbidden)
    .titled("The app does not allow users to sign up.")
    .remedied("Create the user as an operator, or set sign_up to immediate or verify_first.")
  package static let emailUnverified = Failure("email_unverified", .forbidden)
    .titled("The email address must be verified first.")
    .remedied(
      "Ask the user to open the link in the email. POST /v1/email/verify/request sends another."
    )
  /// Another user has the email address, or could restore it.
  package static let emailTaken = Failure("email_taken", .conflict)
    .titled("Another user already has this email address.")
    .remedied("Ask the user to sign in, or to choose another address.")(at: "/email")
  package static let noEmail = Failure("no_email", .conflict)
    .titled("The user has no email address to sign in with.")
    .remedied("Link an address and a password: POST /v1/me/identities.")
  package static let noHostName = Failure("app_without_host", .conflict)
    .titled("The app has no host name, so it has no pages.")
    .remedied("Give the app a host name: dossier app host set.")
  package static let userBlocked = Failure("user_blocked", .forbidden)
    .titled("The user is blocked.")
    .remedied(
      "An operator can unblock the user with dossier user unblock. Only the hosted pages report a "
        + "block."
    )
  /// A new user has members that an existing user has; each fault names one.
  package static let userExists = Failure("user_exists", .conflict)
    .titled("Another user already has the id or the email address.")
    .remedied(
      "The member errors names the taken value. Change the existing user, or omit the value."
    )
}

extension Failure {
  /// Returns the error for a login method whose setting is false.
  package static func loginMethodDisabled(_ method: LoginMethod) -> Failure {
    .loginMethodDisabled(
      "The app's setting \(method.rawValue) is false.",
      members: [("setting", .string(method.rawValue))]
    )
  }
}
