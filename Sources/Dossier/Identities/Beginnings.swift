import EventLoop
package import Postgres

/// How users began, for clients that show it or go by it.
package enum Beginnings {
  /// Notes that the caller came without credentials, if it still has none to log in with.
  ///
  /// - Throws: `.unauthenticated`, `.unavailable`.
  @EventLoop package static func note(anonymous user: UserID, _ context: RequestContext)
    async throws(Failure)
  {
    try await context.requireSession(of: user)
    _ = try await context.write(BeginningQueries.note, user, context.principal)
  }

  /// Whether the caller has linked credentials after it came without.
  ///
  /// - Throws: `.unauthenticated`, `.unavailable`.
  @EventLoop package static func wasAnonymous(
    _ user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let rows = try await context.read(BeginningQueries.wasAnonymous, user, context.principal)
    guard let row = rows.first else { throw context.gone }
    return row
  }
}

package enum BeginningQueries {
  static let note = Statement<NoRow, UserID, Principal>(
    "beginnings.note",
    """
    insert into beginnings (user_id, kind)
    select c.user_id, 'anonymous' from caller($1, $2) c where c.anonymous on conflict do nothing
    """
  )

  /// One row when the session is live.
  static let wasAnonymous = Statement<Bool, UserID, Principal>(
    "beginnings.was_anonymous",
    """
    select exists (
      select from beginnings b where b.user_id = c.user_id and b.kind = 'anonymous')
    from caller($1, $2) c
    """
  )

  /// Makes a user anonymous again; one row for whom it began as.
  static let comeBack = Statement<String, UserID>(
    "beginnings.come_back",
    """
    with began as (
      select u.user_id, u.app_id, new_object_id() as identity_id
      from beginnings b join users u on u.user_id = b.user_id
      where b.user_id = $1 and b.kind = 'anonymous'
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      select user_id, identity_id, app_id, 'anonymous', user_id from began
    ), subject as (
      insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
      select app_id, 'anonymous', user_id, user_id, identity_id from began
    )
    update users u set anonymous = true from began b where u.user_id = b.user_id
    returning u.user_id
    """
  )

  static let register = Statement<NoRow, UserID>(
    "beginnings.register",
    "insert into beginnings (user_id, kind) values ($1, 'registered')"
  )

  /// Removes a user who was registered and has never logged in, and of whom nothing else is stored;
  /// one row then.
  static let takeOver = Statement<String, UserID, AppID>(
    "beginnings.take_over",
    """
    delete from users u using beginnings b
    where u.user_id = $1 and u.app_id = $2 and b.user_id = u.user_id and b.kind = 'registered'
      and u.login_count = 0 and u.blocked_at is null
      and not exists (select from documents d where d.user_id = u.user_id)
      and not exists (select from properties p where p.user_id = u.user_id)
      and not exists (
        select from identities i where i.user_id = u.user_id and i.provider <> 'password')
    returning u.user_id
    """
  )

  /// What a user has proved besides is not the database's to remove with it.
  static let forget = Statement<NoRow, UserID>(
    "beginnings.forget",
    "delete from identity_subjects where user_id = $1"
  )

  package static let all: [any PreparedStatement] = [
    note, wasAnonymous, comeBack, register, takeOver, forget,
  ]
}
