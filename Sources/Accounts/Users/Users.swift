import Delivery
package import EventLoop
import IdentitySubjects
package import Imaging
package import JSON
package import Postgres
import RateLimiting
package import Runtime
package import Sessions
package import Tenancy

/// Users, and their creation.
package enum Users {
  /// Creates a guest, a user without credentials, and logs it in.
  ///
  /// - Throws: `.loginMethodDisabled`, `.signUpClosed`, `.deviceUnknown`, `.deviceFull`,
  ///   `.tooManyAttempts`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func signInAnonymously(
    as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    try context.requireOpen(.anonymous)
    try context.requireOpenSignUp()
    let limit = try await RequestLimiter.anonymous(context)
    let user = NewSubject(
      credential: VerifiedCredential(of: UserID(), .anonymous, isOfNewUser: true), limit: limit,
      context: context
    )
    do throws(Failure) {
      return try await SignIn.complete(user.credential, as: style, context, user.write)
    } catch .tooManyAttempts {
      // Concurrent requests have used up the limit; this reports which limit.
      try await limit.requireLeft()
      throw .tooManyAttempts(retryAfter: .seconds(1))
    }
  }
}

/// A user who is about to be made without an address to sign in by: a guest, or an issuer's subject.
@EventLoop struct NewSubject {
  let credential: VerifiedCredential
  var profile = JSONObject()
  /// The address of the profile; the database omits it if another user has it.
  var address: EmailAddress?
  /// Whether the address is proved: the user gets it verified, or is not made.
  var provesEmail = false
  /// The limit that the new user counts against; nil for none.
  var limit: RateLimitSet?
  let context: RequestContext

  /// Sends the statements that make the user with one identity.
  ///
  /// A guest has no subject.
  /// - Returns: a function that waits, and throws `.identityTaken` if another user has the identity.
  func write(in transaction: Transaction) async throws(Failure) -> Completion {
    let (user, app, identity) = (credential.user, context.app.id, IdentityID())
    let (provider, subject) = (credential.provider, credential.evidence)
    var email: String?
    if let address {
      let taken = try await transaction.run(
        SubjectQueries.takeFreeAddress, app, address.key, user, identity, ServerTime()
      )
      guard !taken.isEmpty || !provesEmail else { throw .emailTaken }
      if !taken.isEmpty { email = profile["email"]?.string }
    }
    let claimed = subject.map {
      transaction.send(SubjectQueries.claim, app, provider, $0, user, identity)
    }
    let members = TextBytes(profile.serialized())
    _ = transaction.send(UsersQueries.create, user, app, subject == nil, members, email)
    transaction.recordSignUp(of: user)
    let made = transaction.send(
      CredentialRowQueries.addIdentity, user, identity, app, provider, subject ?? user.text
    )
    let counted = limit?.sendSpending(in: transaction)
    if provesEmail, address != nil {
      // A wait for a later statement must not hide this error.
      try await claimed?.rows(undone: .identityTaken)
      _ = transaction.send(AccountQueries.verify, user)
    }
    return { () async throws(Failure) in
      try await claimed?.rows(undone: .identityTaken)
      try await made.rows()
      try await counted?()
    }
  }
}

extension RequestContext {
  /// - Throws: `.loginMethodDisabled` if the app does not allow this login method.
  package func requireOpen(_ way: LoginMethod) throws(Failure) {
    guard app.accountSettings.isOpen(way) else { throw .loginMethodDisabled(way) }
  }
}

extension Users {
  /// Deletes a user with all stored data, and frees its addresses and identities for other users.
  ///
  /// The audit events of the user stay without addresses, or only the deletion, by a setting.
  /// - Parameters:
  ///   - user: the user.
  ///   - condition: the versions that the user may have.
  ///   - next: the user to activate next on the device of the session.
  ///   - context: the context of the request.
  /// - Throws: `.notFound`, `.sessionEnded`, `.preconditionFailed`, `.databaseUnavailable`.
  @EventLoop package static func delete(
    _ user: UserID, if condition: VersionCondition = VersionCondition(),
    next: NextActive = .mostRecent, _ context: RequestContext
  ) async throws(Failure) {
    let picture = try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      let versions = try await transaction.run(UserRemovalQueries.version, user, context.app.id)
      guard let version = versions.first else { throw context.gone }
      try condition.require(version)
      try await SecurityNotice.deleted.notice(of: user, in: transaction)
        .queue(in: transaction)
      try await SecurityNotice.deleted.queueForRestorable(of: user, in: transaction)
      if next == .none || !context.app.sessionSettings.allowsSwitching {
        try await Devices.deactivate(user, in: transaction)
      }
      return try await remove(user, in: transaction)
    }
    await forgetEvents(of: user, context)
    await context.pictures.shelf.forget(picture)
  }

  /// Removes what the audit log does not keep of a deleted user; the maintenance makes up for a failure.
  ///
  /// It is a transaction of its own: Citus lets no function of the owner change the shards that the
  /// server's role has changed before.
  @EventLoop package static func forgetEvents(of user: UserID, _ context: RequestContext) async {
    _ = try? await context.write(EventQueries.forget, user)
  }

  /// Deletes a locked user in a transaction, and records it.
  ///
  /// The maintenance and the deletion of an app run the same statement.
  /// - Parameters:
  ///   - user: the user.
  ///   - heir: the user to whom the credentials go; nil for none.
  ///   - facts: more facts for the event of the deletion.
  ///   - transaction: the transaction.
  /// - Returns: the name of the picture, whose file is to be deleted after the commit.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult
  @EventLoop package static func remove(
    _ user: UserID, linkedTo heir: UserID? = nil, recording facts: JSONObject = JSONObject(),
    in transaction: Transaction
  ) async throws(Failure) -> String? {
    let app = transaction.app.id
    try await Devices.forget(user, in: transaction)
    try await LogoutNotices.queue(of: user, app: app, isDeleted: true, in: transaction)
    Sessions.keepUnpublishedEnds(of: user, in: transaction)
    let subjects = transaction.send(SubjectQueries.ofUser, user)
    let removed = transaction.send(UserRemovalQueries.remove, user)
    let names = try await subjects.rows()
    Subjects.release(names, of: user, in: transaction)
    for subject in names.sorted() where subject.provider == .email {
      MailDeliveries.forget(address: subject.name, in: transaction)
    }
    var detail = facts
    detail["linked_to"] = heir.map { .string($0.text) }
    Event("user_delete", of: user, detail: .object(detail)).record(in: transaction)
    return try await removed.rows().first?.name
  }
}

package enum UserRemovalQueries {
  static let version = Statement<Int, UserID, AppID>(
    "users.version", "select version from users where user_id = $1 and app_id = $2"
  )

  /// Deletes a user and returns its picture; no row if the user does not exist.
  ///
  /// Its subjects are deleted by their keys, and its tokens of services once they are revoked. Used
  /// passkey ceremonies stay until they expire, so that none makes the user again.
  package static let remove = Statement<ReplacedPicture, UserID>(
    "users.remove",
    """
    with flows as (
        delete from authentication_flows where place = $1 and purpose <> 'passkey'),
      answers as (delete from idempotency_keys where owner = $1),
      mails as (delete from mail_deliveries where user_id = $1),
      tokens as (update identity_tokens set is_due = true where user_id = $1)
    delete from users where user_id = $1
    returning picture
    """)
}

package enum UsersQueries {
  /// - Parameter 3: whether it is anonymous.
  /// - Parameter 4: members of the profile.
  /// - Parameter 5: the address; null without one.
  package static let create = Statement<NoRow, UserID, AppID, Bool, TextBytes, String?>(
    "users.create",
    """
    insert into users (user_id, app_id, anonymous, email, name, given_name, family_name, nickname,
      phone, locale, zone, picture_url)
    values ($1, $2, $3, $5, $4::jsonb ->> 'name', $4::jsonb ->> 'given_name',
      $4::jsonb ->> 'family_name', $4::jsonb ->> 'nickname', $4::jsonb ->> 'phone',
      $4::jsonb ->> 'locale', $4::jsonb ->> 'zone', $4::jsonb ->> 'picture_url')
    """)

  /// Replaces the hash of the same password, unless the password has changed meanwhile.
  static let renewHash = Statement<NoRow, UserID, String, String>(
    "users.renew_hash",
    """
    with linked as (
      update identities set password_hash = $3 where user_id = $1 and password_hash = $2
    )
    update passwords set hash = $3 where user_id = $1 and hash = $2
    """)
}

/// The other rows of which a user's credentials consist, one statement for each table.
package enum CredentialRowQueries {
  package static let addIdentity = Statement<
    NoRow, UserID, IdentityID, AppID, IdentityProvider, String
  >(
    "credential_rows.add_identity",
    """
    insert into identities (user_id, identity_id, app_id, provider, subject)
    values ($1, $2, $3, $4, $5)
    """)

  /// Writes the password of a user; returns no row if the user has one.
  package static let addPassword = Statement<String, UserID, String>(
    "credential_rows.add_password",
    """
    insert into passwords (user_id, hash) values ($1, $2)
    on conflict (user_id) do nothing returning user_id
    """)

  /// Makes a user with a new credential no guest, and raises its version.
  package static let settle = Statement<NoRow, UserID>(
    "credential_rows.settle",
    """
    with guest as (delete from identities where user_id = $1 and provider = 'anonymous')
    update users set anonymous = false, version = version + 1, updated_at = now()
    where user_id = $1
    """)
}
