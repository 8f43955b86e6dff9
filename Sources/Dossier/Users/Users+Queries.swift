import EventLoop
package import Postgres

/// What a login by password needs to know.
struct StoredPassword: RowDecodable {
  let user: UserID
  let hash: String
  let isBlocked: Bool
  /// Whether the address is proved to be the user's.
  let isConfirmed: Bool

  init(from row: Row) throws(DatabaseError) {
    user = UserID(trusted: try row.text(0))
    hash = try row.text(1)
    isBlocked = try row.bool(2)
    isConfirmed = try row.bool(3)
  }
}

/// What became of a deletion.
struct DeletedUser: RowDecodable {
  let isDeleted: Bool
  let picture: String?

  init(from row: Row) throws(DatabaseError) {
    isDeleted = try row.bool(0)
    picture = row.text(ifAny: 1)
  }
}

package enum UsersQueries {
  /// Fails by `identity_subjects_taken` when the identity is another user's.
  ///
  /// An anonymous user's subject is its own id: nobody can have it before.
  /// - Parameter 7: members of the profile.
  static let create = Statement<
    NoRow, UserID, AppID, IdentityID, String, String, Bool, TextBytes
  >(
    "users.create",
    """
    with created as (
      insert into users (user_id, app_id, anonymous, email, name, given_name, family_name, nickname,
        phone, locale, zone)
      select $1, $2, $6, p ->> 'email', p ->> 'name', p ->> 'given_name', p ->> 'family_name',
        p ->> 'nickname', p ->> 'phone', p ->> 'locale', p ->> 'zone'
      from (select $7::jsonb) as profile (p)
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      values ($1, $3, $2, $4, $5)
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($2, $4, $5, $1, $3)
    """
  )

  /// Whether the user was made: not when another has confirmed the address.
  ///
  /// Of an unconfirmed address the four newest claims are kept; whoever proves it has it anyway.
  static let createWithPassword = Statement<Bool, UserID, AppID, IdentityID, String, String>(
    "users.create_with_password",
    """
    with free as (
      select email_key($4) as key where not exists (
        select from identity_subjects
        where app_id = $2 and provider = 'email' and subject = email_key($4))
    ), created as (
      insert into users (user_id, app_id, anonymous, email)
      select $1, $2, false, btrim($4) from free
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      select $1, $3, $2, 'password', key from free
    ), password as (
      insert into passwords (user_id, hash) select $1, $5 from free
    ), crowded as (
      delete from unconfirmed_emails e using (
        select o.user_id from unconfirmed_emails o join free on o.email_key = free.key
        where o.app_id = $2 order by o.created_at desc, o.user_id offset 3) old
      where e.app_id = $2 and e.email_key = email_key($4) and e.user_id = old.user_id
    ), claim as (
      insert into unconfirmed_emails (app_id, email_key, user_id) select $2, key, $1 from free
      returning 1
    )
    select exists (select from claim)
    """
  )

  /// The one who has confirmed the address; without one, those who claim it, the newest first.
  static let passwords = Statement<StoredPassword, AppID, String>(
    "users.passwords",
    """
    with confirmed as (
      select user_id from identity_subjects
      where app_id = $1 and provider = 'email' and subject = email_key($2)
    ), candidates as (
      select user_id, true as is_confirmed, now() as since from confirmed
      union all
      select user_id, false, created_at from unconfirmed_emails
      where app_id = $1 and email_key = email_key($2) and not exists (select from confirmed)
    )
    select u.user_id, p.hash, u.blocked_at is not null, c.is_confirmed
    from candidates c join users u using (user_id) join passwords p using (user_id)
    order by c.since desc, u.user_id limit 4
    """
  )

  static let renewHash = Statement<NoRow, UserID, String>(
    "users.renew_hash",
    "update passwords set hash = $2 where user_id = $1"
  )

  /// One row when the session counts: whether the version was one of those asked for, and the name of
  /// the user's picture.
  static let delete = Statement<DeletedUser, UserID, Authority, String?, String?, VersionList?>(
    "users.delete",
    """
    with c as (select user_id, app_id from caller($1, $2)), deleted as (
      delete from users u using c
      where u.user_id = c.user_id and ($5::bigint[] is null or u.version = any ($5::bigint[]))
      returning u.user_id, u.app_id, u.picture
    ), subjects as (
      delete from identity_subjects i using deleted d where i.user_id = d.user_id
    ), fact as (
      insert into audit (user_id, event_id, app_id, action, actor, session_id, address, agent)
      select user_id, new_object_id(), app_id, 'user_delete', 'user', $2, $3::inet, $4 from deleted
    )
    select deleted.user_id is not null, substr(deleted.picture, length('/v1/pictures/') + 1)
    from c left join deleted on true
    """
  )

  package static let all: [any PreparedStatement] = [
    create, createWithPassword, passwords, renewHash, delete,
  ]
}

/// Every statement of the domain, for the test that prepares them all.
package enum AllQueries {
  package static let statements = [
    AppsQueries.statements, KeyringQueries.all, CallerQueries.all, HousekeepingQueries.all,
    UnusedQueries.all, SessionsQueries.all, FreshProofQueries.all, AuditQueries.all,
    DevicesQueries.all, AttemptQueries.all,
    UsersQueries.all, PasswordQueries.all, EmailAddressQueries.all, EmailQueries.all,
    MailTokenQueries.all,
    IdentitiesQueries.all, IssuerQueries.all, APIKeyQueries.all, ProfileQueries.all,
    PropertyQueries.all, DocumentsQueries.all, DocumentHistoryQueries.all, PictureQueries.all,
    ExportQueries.all,
    AppsAdministrationQueries.all, ClientQueries.all, IssuerAdministrationQueries.all,
    SigningKeyQueries.all, UsersAdministrationQueries.all, TrailQueries.all, ImportQueries.all,
    UserExportQueries.all,
    SearchIndexQueries.all, SchemaQueries.statements,
  ].flatMap(\.self)
}
