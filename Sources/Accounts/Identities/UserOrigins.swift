package import Runtime
import EventLoop
import Postgres

/// The origin of users, for clients that show or use it.
package enum UserOrigins {
  /// Records that the user began as a guest, if it still has no credentials.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func note(anonymous user: UserID, _ context: RequestContext)
    async throws(Failure)
  {
    try await context.requireSession(of: user)
    _ = try await context.write(UserOriginQueries.note, user, context.principal)
  }

  /// Returns whether the user began as a guest and has linked credentials since.
  ///
  /// - Throws: `.sessionEnded`, `.databaseUnavailable`.
  @EventLoop package static func wasAnonymous(
    _ user: UserID, _ context: RequestContext
  ) async throws(Failure) -> Bool {
    let rows = try await context.read(UserOriginQueries.wasAnonymous, user, context.principal)
    return try rows.first.orGone(context)
  }
}

package enum UserOriginQueries {
  static let note = Statement<NoRow, UserID, Principal>(
    "user_origins.note",
    """
    insert into user_origins (user_id, kind)
    select c.user_id, 'anonymous' from users c where c.anonymous and \(.isAuthorized)
    on conflict do nothing
    """)

  /// Returns one row if the session is live.
  static let wasAnonymous = Statement<Bool, UserID, Principal>(
    "user_origins.was_anonymous",
    """
    select exists (
      select 1 from user_origins b where b.user_id = $1 and b.kind = 'anonymous')
    from users c where \(.isAuthorized)
    """)

  /// Makes a user anonymous again; returns its app if the user began as a guest.
  static let comeBack = Statement<AppID, UserID>(
    "user_origins.come_back",
    """
    update users set anonymous = true
    where user_id = $1 and exists (
      select 1 from user_origins where user_id = $1 and kind = 'anonymous')
    returning app_id
    """)

  static let register = Statement<NoRow, UserID>(
    "user_origins.register", "insert into user_origins (user_id, kind) values ($1, 'registered')"
  )

  /// Returns one row if the user has not logged in since its registration.
  ///
  /// - Parameter 2: whether it linked the credentials to an anonymous user, who has logged in once.
  static let isUnused = Statement<String, UserID, Bool>(
    "user_origins.is_unused",
    """
    select u.user_id from users u left join user_origins b on b.user_id = $1
    where u.user_id = $1
      and (b.kind = 'registered' and u.login_count = 0 or $2 and u.login_count <= 1)
    """)

  /// Returns one row if the user is registered, has never logged in and has no other data.
  static let isBare = Statement<String, UserID>(
    "user_origins.is_bare",
    """
    select u.user_id from users u join user_origins b on b.user_id = $1
    where u.user_id = $1 and b.kind = 'registered'
      and u.login_count = 0 and u.blocked_at is null
      and not exists (select 1 from documents d where d.user_id = $1)
      and not exists (select 1 from properties p where p.user_id = $1)
      and not exists (
        select 1 from identities i where i.user_id = $1 and i.provider <> 'password')
    """)
}
