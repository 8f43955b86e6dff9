package import EventLoop
package import Imaging
import JSON
package import Postgres
package import Runtime
package import Sessions

/// Users, and their creation.
package enum Users {
  /// Creates a guest, a user without credentials, and logs it in.
  ///
  /// - Throws: `.loginMethodDisabled`, `.signUpClosed`, `.deviceUnknown`, `.deviceFull`,
  ///   `.tooManyAttempts`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func signInAnonymously(
    as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
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
        CredentialRowQueries.takeFreeAddress, app, address.key, user, identity, ServerTime()
      )
      if !taken.isEmpty { email = profile["email"]?.string }
    }
    let claimed = subject.map {
      transaction.send(CredentialRowQueries.claim, app, provider, $0, user, identity)
    }
    let members = TextBytes(profile.serialized())
    _ = transaction.send(UsersQueries.create, user, app, subject == nil, members, email)
    let made = transaction.send(
      CredentialRowQueries.addIdentity, user, identity, app, provider, subject ?? user.text
    )
    let counted = limit?.sendSpending(in: transaction)
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
  /// Deletes a locked user in a transaction, and records it.
  ///
  /// The maintenance and the deletion of an app run the same statement.
  /// - Parameters:
  ///   - user: the user.
  ///   - heir: the user to whom the credentials go; nil for none.
  ///   - transaction: the transaction.
  /// - Returns: the name of the picture, whose file is to be deleted after the commit.
  /// - Throws: `.databaseUnavailable`.
  @discardableResult
  @EventLoop package static func remove(
    _ user: UserID, linkedTo heir: UserID? = nil, in transaction: Transaction
  ) async throws(Failure) -> String? {
    let app = transaction.app.id
    try await LogoutNotices.queue(of: user, app: app, isDeleted: true, in: transaction)
    let subjects = transaction.send(SubjectQueries.ofUser, user)
    let removed = transaction.send(UserRemovalQueries.remove, user)
    Subjects.release(try await subjects.rows(), of: user, in: transaction)
    let detail: JSON = heir.map { ["linked_to": .string($0.text)] } ?? [:]
    Event("user_delete", of: user, detail: detail).record(in: transaction)
    return try await removed.rows().first?.name
  }
}

package enum UserRemovalQueries {
  /// Deletes a user and returns its picture; no row if the user does not exist.
  ///
  /// Its subjects are deleted by their keys.
  package static let remove = Statement<ReplacedPicture, UserID>(
    "users.remove",
    """
    with flows as (delete from authentication_flows where place = $1),
      answers as (delete from idempotency_keys where owner = $1)
    delete from users where user_id = $1
    returning picture
    """)

  package static let all: [any PreparedStatement] = [remove]
}

package enum UsersQueries {
  /// - Parameter 3: whether it is anonymous.
  /// - Parameter 4: members of the profile.
  /// - Parameter 5: the address; null without one.
  static let create = Statement<NoRow, UserID, AppID, Bool, TextBytes, String?>(
    "users.create",
    """
    insert into users (user_id, app_id, anonymous, email, name, given_name, family_name, nickname,
      phone, locale, zone)
    values ($1, $2, $3, $5, $4::jsonb ->> 'name', $4::jsonb ->> 'given_name',
      $4::jsonb ->> 'family_name', $4::jsonb ->> 'nickname', $4::jsonb ->> 'phone',
      $4::jsonb ->> 'locale', $4::jsonb ->> 'zone')
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

  package static let all: [any PreparedStatement] = [create, renewHash]
}
