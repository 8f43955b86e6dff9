import BreachedPasswords
import Delivery
package import EventLoop
import PasswordHashes
import Postgres
import RateLimiting
package import Runtime
package import Sessions

extension Users {
  /// Changes the user's password after verifying the current one, and ends its sessions and API
  /// keys.
  ///
  /// With `keepingKeys`, the API keys stay.
  /// - Returns: a new session, which replaces the session of the request.
  /// - Throws: `.invalid`, `.wrongCredentials` also if the user has no password,
  ///   `.reauthenticationRequired` in a session without the second factor of the user,
  ///   `.tooManyAttempts`, `.sessionEnded`, `.overloaded`, `.databaseUnavailable`.
  @EventLoop package static func changePassword(
    from current: String, to new: String, keepingKeys: Bool = false, of user: UserID,
    as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let own = try await ownPassword(of: user, context)
    try await Credentials.check(new, of: own.address, at: "/new_password", context)
    try await RateLimits.countChange(of: user, context)
    let limiter = passwordLimiter(of: user, context)
    let hash = try await limiter.attempt { () async throws(Failure) in
      try await verify(current, against: own, context)
      return try await context.passwords.hash(new, for: context.owner)
    }
    let live = try await limiter.complete { () async throws(Failure) in
      try await context.transaction { transaction async throws(Failure) in
        // A reset may have ended the session or changed the password while we were hashing.
        try await Sessions.lockUser(user, in: transaction)
        try await SecondFactors.requirePassed(by: user, in: transaction)
        let changed = try await transaction.run(PasswordQueries.replace, user, own.hash ?? "", hash)
        guard !changed.isEmpty else { throw .wrongCredentials }
        try await revoke(
          .others(than: context.principal.session), keepingKeys: keepingKeys, of: user,
          "password_change", in: transaction
        )
        try await limiter.succeed(in: transaction)
        try await SecurityNotice.passwordChanged.record(of: user, in: transaction)
        return try await Sessions.renew(
          user, by: VerifiedCredential(of: user, .password(hash: hash)), as: style,
          "password_change", in: transaction
        )
      }
    }
    return OpenSession(live, of: user, as: style, context)
  }
}

extension Users {
  /// Ends the sessions and API keys of a user who gets a new password.
  @EventLoop package static func revoke(
    _ sessions: Sessions.Ending = .all, keepingKeys: Bool = false, of user: UserID,
    _ reason: String, in transaction: Transaction
  ) async throws(Failure) {
    if !keepingKeys { _ = transaction.send(APIKeyQueries.removeAll, user) }
    try await Sessions.end(sessions, of: user, reason, in: transaction)
  }

  /// Verifies the user's password, and counts the attempt.
  ///
  /// - Returns: the stored hash.
  /// - Throws: `.wrongCredentials` also if the user has no password, `.sessionEnded`,
  ///   `.overloaded`, `.databaseUnavailable`.
  @EventLoop static func verify(
    _ password: String, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> String {
    let own = try await ownPassword(of: user, context)
    try await verify(password, against: own, context)
    return own.hash ?? ""
  }

  /// Returns the rate limit for reauthentication in a session, by password or otherwise.
  @EventLoop static func passwordLimiter(
    of user: UserID, _ context: RequestContext
  ) -> FailureLimiter {
    FailureLimiter(.password, on: user.text, context)
  }

  @EventLoop private static func verify(
    _ password: String, against own: OwnPassword, _ context: RequestContext
  ) async throws(Failure) {
    guard own.address != nil,
      try await context.passwords.verify(password, against: own.hash, for: context.owner)
    else { throw .wrongCredentials }
  }

  @EventLoop static func ownPassword(
    of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> OwnPassword {
    try await context.read(PasswordQueries.own, user, context.principal).first.orGone(context)
  }
}

/// The password of a user with a live session; without a hash if the user has no password.
struct OwnPassword: RowDecodable {
  let hash: String?
  /// The comparison key of the user's address.
  let address: String?

  init(from row: Row) throws(DatabaseError) {
    hash = row.text(ifAny: 0)
    address = row.text(ifAny: 1)
  }
}

extension Users {
  /// Makes a password the credential of a locked user with an address.
  @EventLoop package static func store(
    _ hash: String, of user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    _ = transaction.send(PasswordQueries.prepare, user)
    try await transaction.send(PasswordQueries.set, user, hash).rows()
  }
}

package enum PasswordQueries {
  static let own = Statement<OwnPassword, UserID, Principal>(
    "passwords.own",
    """
    select p.hash, i.subject from users c
    left join passwords p on p.user_id = $1
    left join identities i on i.user_id = $1 and i.provider in ('password', 'email')
    where \(.isAuthorized)
    """)

  /// Makes a password the credential of a user's address, and deletes its reset tokens.
  static let prepare = Statement<NoRow, UserID>(
    "passwords.prepare",
    """
    with used as (delete from mail_tokens where user_id = $1 and purpose = 'reset')
    update identities set provider = 'password' where user_id = $1 and provider = 'email'
    """)

  static let set = Statement<NoRow, UserID, String>(
    "passwords.set",
    """
    insert into passwords (user_id, hash) values ($1, $2)
    on conflict (user_id) do update set hash = excluded.hash, changed_at = excluded.changed_at
    """)

  /// Deletes the password of a user, who logs in by mailed codes from then on.
  static let remove = Statement<NoRow, UserID>(
    "passwords.remove",
    """
    with identity as (
      update identities set provider = 'email' where user_id = $1 and provider = 'password'
    ), used as (
      delete from mail_tokens where user_id = $1 and purpose = 'reset'
    )
    delete from passwords where user_id = $1
    """)

  /// Replaces the password if its hash is still parameter 2; returns one row if it did.
  ///
  /// Reset tokens stay valid: they are the owner's remedy against a thief who keeps changing the
  /// password.
  static let replace = Statement<String, UserID, String, String>(
    "passwords.replace",
    """
    update passwords set hash = $3, changed_at = now() where user_id = $1 and hash = $2
    returning user_id
    """)
}

/// Checks new passwords against the set that the operator installed, if there is one.
@EventLoop package final class BreachedPasswordCheck: DomainService {
  private let set: BreachedPasswordSet?
  private let pool: BlockingPool

  /// - Parameters:
  ///   - path: the file of the set; nil for none.
  ///   - pool: the threads that read it.
  package init(_ path: String?, pool: BlockingPool) {
    set = path.map(BreachedPasswordSet.init)
    self.pool = pool
  }

  /// Returns the error for a password of the set, or nil for another one.
  ///
  /// - Throws: `.overloaded`, `.internalError` if the set cannot be read.
  func fault(in password: String, at pointer: String) async throws(Failure) -> FieldError? {
    guard let set else { return nil }
    let found: Result<Bool, BreachedPasswordSetError>
    do throws(BlockingPoolError) {
      found = try await pool.run {
        Result { () throws(BreachedPasswordSetError) in
          try set.contains(password.preparedPassword)
        }
      }
    } catch {
      throw .overloaded(retryAfter: .seconds(1))
    }
    switch found {
    case .success(false): return nil
    case .success(true):
      return FieldError(
        pointer, "breached", "This password is known from a data breach. Choose another one."
      )
    case .failure(let error): throw .internalError(reason: "breached_passwords: \(error)")
    }
  }
}
