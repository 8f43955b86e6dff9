import EventLoop
package import Postgres

extension Users {
  /// Changes the caller's password, who shows the current one, and ends its other sessions.
  ///
  /// - Throws: `.invalid`, `.wrongCredentials` also for a user without a password,
  ///   `.tooManyAttempts`, `.unauthenticated`, `.overloaded`, `.unavailable`.
  @EventLoop package static func changePassword(
    from current: String,
    to new: String,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) {
    if let fault = Credentials.fault(in: new, at: "/new_password", context.app.settings) {
      throw .invalid([fault])
    }
    let (guarding, address) = try await verify(current, of: caller, context)
    let salt = context.store.keys.master.passwordSalt(context.app.id, address)
    let hash = try await context.store.passwords.hash(new, salt)
    try await context.store.transaction { (transaction) async throws(DatabaseError) in
      _ = try await transaction.run(PasswordQueries.set, caller.user, hash)
      _ = try await transaction.run(
        SessionsQueries.end,
        caller.user,
        nil,
        caller.session,
        "password_change",
        "user",
        context.origin.address,
        context.origin.agent
      )
      try await guarding.succeed(in: transaction)
      _ = try await transaction.run(FreshProofQueries.renew, caller.user, caller.authority)
      try await AuditEvent(
        "password_change",
        of: caller.user,
        session: caller.session,
        device: caller.device
      ).record(in: transaction, context)
    }
  }
}

extension Users {
  /// Checks that a password is the caller's.
  ///
  /// - Returns: what counted the attempt, and takes it away in the transaction that follows; the
  ///   key of the address that the password goes with.
  /// - Throws: `.wrongCredentials` also for a user without a password, `.tooManyAttempts`,
  ///   `.unauthenticated`, `.overloaded`, `.unavailable`.
  @EventLoop static func verify(
    _ password: String,
    of caller: Caller,
    _ context: Context
  ) async throws(Failure) -> (FailureGuard, address: String) {
    let guarding = FailureGuard("password", on: caller.user.text, context)
    try await guarding.attempt()
    let rows = try await context.store.read(PasswordQueries.own, caller.user, caller.authority)
    guard let row = rows.first else { throw caller.gone }
    guard let address = row.address,
      try await context.store.passwords.verify(password, against: row.hash)
    else { throw .wrongCredentials }
    return (guarding, address)
  }
}

/// The password of a caller whose session counts; no hash when there is none.
struct OwnPassword: RowDecodable {
  let hash: String?
  /// The key of the address that it goes with.
  let address: String?

  init(from row: Row) throws(DatabaseError) {
    hash = row.text(ifAny: 0)
    address = row.text(ifAny: 1)
  }
}

package enum PasswordQueries {
  static let own = Statement<OwnPassword, UserID, Authority>(
    "passwords.own",
    """
    select p.hash, i.subject from caller($1, $2) c
    left join passwords p on p.user_id = c.user_id
    left join identities i on i.user_id = c.user_id and i.provider = 'password'
    """
  )

  /// Also takes away what was mailed to choose a new one.
  static let set = Statement<NoRow, UserID, String>(
    "passwords.set",
    """
    with used as (delete from mail_tokens where user_id = $1 and purpose = 'reset')
    update passwords set hash = $2, changed_at = now() where user_id = $1
    """
  )

  package static let all: [any PreparedStatement] = [own, set]
}
