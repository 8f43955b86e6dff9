import EventLoop
package import Postgres

/// What a login by password needs to know.
struct StoredPassword: RowDecodable {
  let user: UserID
  let hash: String
  let isBlocked: Bool

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    hash = try row.text(1)
    isBlocked = try row.bool(2)
  }
}

package enum UsersQueries {
  /// An anonymous user's subject is its own id: nobody can have it before.
  static let createAnonymous = Statement<NoRow, UserID, AppID, IdentityID>(
    "users.create_anonymous",
    """
    with created as (
      insert into users (user_id, app_id, anonymous) values ($1, $2, true)
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      values ($1, $3, $2, 'anonymous', $1)
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($2, 'anonymous', $1, $1, $3)
    """
  )

  /// Fails by `identity_subjects_taken` when another user of the app has the address.
  static let createWithPassword = Statement<NoRow, UserID, AppID, IdentityID, String, String>(
    "users.create_with_password",
    """
    with created as (
      insert into users (user_id, app_id, anonymous, email) values ($1, $2, false, btrim($4))
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      values ($1, $3, $2, 'password', email_key($4))
    ), password as (
      insert into passwords (user_id, hash) values ($1, $5)
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($2, 'password', email_key($4), $1, $3)
    """
  )

  /// Served by the primary keys of three tables.
  static let password = Statement<StoredPassword, AppID, String>(
    "users.password",
    """
    select u.user_id, p.hash, u.blocked_at is not null
    from identity_subjects i
    join users u on u.user_id = i.user_id
    join passwords p on p.user_id = i.user_id
    where i.app_id = $1 and i.provider = 'password' and i.subject = email_key($2)
    """
  )

  static let renewHash = Statement<NoRow, UserID, String>(
    "users.renew_hash",
    "update passwords set hash = $2 where user_id = $1"
  )

  /// One row when the session counts: whether the version was one of those asked for.
  static let delete = Statement<
    Bool, UserID, SessionID, EventID, String?, String?, VersionList?
  >(
    "users.delete",
    """
    with c as (select user_id, app_id from caller($1, $2)), deleted as (
      delete from users u using c
      where u.user_id = c.user_id and ($6::bigint[] is null or u.version = any ($6::bigint[]))
      returning u.user_id, u.app_id
    ), subjects as (
      delete from identity_subjects i using deleted d where i.user_id = d.user_id
    ), places as (
      insert into audit (user_id, event_id, app_id, action, actor, session_id, address, agent)
      select user_id, $3, app_id, 'user_delete', 'user', $2, $4::inet, $5 from deleted
    )
    select deleted.user_id is not null from c left join deleted on true
    """
  )

  package static let all: [any PreparedStatement] = [
    createAnonymous, createWithPassword, password, renewHash, delete,
  ]
}

/// Every statement of the domain, for the test that prepares them all.
package enum AllQueries {
  package static let statements =
    AppsQueries.all + KeyringQueries.all + SessionsQueries.all + AuditQueries.all
    + UsersQueries.all + ProfileQueries.all + DocumentsQueries.all
}
