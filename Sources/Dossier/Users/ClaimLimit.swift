import EventLoop
package import Postgres

/// How many users may claim an address that none of them has proved.
struct ClaimLimit {
  private let key: String
  private let context: Context
  /// More than people who mistype an address.
  private static let most = 64

  /// - Parameters:
  ///   - key: of the address.
  ///   - context: of the request.
  init(_ key: String, _ context: Context) {
    self.key = key
    self.context = context
  }

  /// Returns whether one more user may claim the address, in a transaction that has locked it.
  ///
  /// At the limit, this deletes the oldest user that was never used after its registration. Such a
  /// user has not logged in again, has not refreshed a token, and has stored nothing. So an
  /// attacker cannot keep the owner from registering by claiming the address many times. No user
  /// loses an account that was used.
  @EventLoop func makeRoom(in transaction: Transaction) async throws(DatabaseError) -> Bool {
    let count = try await transaction.run(ClaimQueries.count, context.app.id, key).first ?? 0
    guard count >= Self.most else { return true }
    let removed = try await transaction.run(ClaimQueries.dispose, context.app.id, key)
    return count - removed.count < Self.most
  }

  /// Whether a user that claims it is more than registered, as `BeginningQueries.takeOver` has it.
  @EventLoop func isInUse() async throws(Failure) -> Bool {
    try await context.store.read(ClaimQueries.isInUse, context.app.id, key).first ?? false
  }

  /// What the one too many is told: the same as after too many attempts.
  @EventLoop var failure: Failure {
    .tooManyAttempts(retryAfter: context.app.settings.failureWindow)
  }
}

package enum ClaimQueries {
  /// Served by the primary key.
  static let count = Statement<Int, AppID, String>(
    "claims.count",
    "select count(*) from unconfirmed_emails where app_id = $1 and email_key = $2"
  )

  static let isInUse = Statement<Bool, AppID, String>(
    "claims.is_in_use",
    """
    select exists (
      select from unconfirmed_emails e join users u on u.user_id = e.user_id
      where e.app_id = $1 and e.email_key = $2 and (u.login_count > 0 or not exists (
        select from beginnings b where b.user_id = u.user_id and b.kind = 'registered')))
    """
  )

  /// Deletes the oldest user that claims the address and was never used.
  ///
  /// Registering may count as one login. Any identity, key, name or picture has grown the version.
  /// Imported users have no `disposable_from`, so they stay.
  static let dispose = Statement<String, AppID, String>(
    "claims.dispose",
    """
    with unused as (
      select u.user_id from unconfirmed_emails e join users u on u.user_id = e.user_id
      where e.app_id = $1 and e.email_key = $2 and e.disposable_from is not null
        and u.login_count <= 1 and u.version = 1 and u.property_floor = 0
        and not exists (select from documents d where d.user_id = u.user_id)
        and not exists (select from properties p where p.user_id = u.user_id)
        and not exists (
          select from sessions s where s.user_id = u.user_id and s.refreshed_at > s.created_at)
      order by e.created_at limit 1 for update of u
    ), deleted as (
      delete from users u using unused where u.user_id = unused.user_id returning u.user_id
    ), fact as (
      insert into audit (user_id, event_id, app_id, action, actor)
      select user_id, new_object_id(), $1, 'user_delete', 'anyone' from deleted
    )
    select user_id from deleted
    """
  )

  package static let all: [any PreparedStatement] = [count, isInUse, dispose]
}
