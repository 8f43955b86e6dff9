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
      select $1, $2, $6, $7::jsonb ->> 'email', p.name, p.given_name, p.family_name, p.nickname,
        p.phone, p.locale, p.zone
      from patched_profile(null::users, $7::jsonb) p
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      values ($1, $3, $2, $4, $5)
    )
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    values ($2, $4, $5, $1, $3)
    """
  )

  /// Makes a user who claims an address, whoever else does.
  ///
  /// - Parameter 5: the key of the address.
  static let createWithPassword = Statement<
    NoRow, UserID, AppID, IdentityID, String, String, String
  >(
    "users.create_with_password",
    """
    with created as (
      insert into users (user_id, app_id, anonymous, email) values ($1, $2, false, btrim($4))
    ), identity as (
      insert into identities (user_id, identity_id, app_id, provider, subject)
      values ($1, $3, $2, 'password', $5)
    ), password as (
      insert into passwords (user_id, hash) values ($1, $6)
    )
    insert into unconfirmed_emails (app_id, email_key, user_id, disposable_from)
    values ($2, $5, $1, now() + interval '1 day')
    """
  )

  /// The one who has proved the address, then those who claim it, the first to do so first: at most
  /// twice as many as may, since imports know no limit.
  static let passwords = Statement<StoredPassword, AppID, String>(
    "users.passwords",
    """
    with candidates as (
      select user_id, true as is_confirmed, null::timestamptz as since from identity_subjects
      where app_id = $1 and provider = 'email' and subject = $2
      union all
      select user_id, false, created_at from unconfirmed_emails
      where app_id = $1 and email_key = $2
    )
    select u.user_id, p.hash, u.blocked_at is not null, c.is_confirmed
    from candidates c join users u using (user_id) join passwords p using (user_id)
    order by c.since nulls first, u.user_id limit 128
    """
  )

  static let renewHash = Statement<NoRow, UserID, String>(
    "users.renew_hash",
    "update passwords set hash = $2 where user_id = $1"
  )

  /// One row when the session is live: whether the version was one of those asked for, and the name of
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
    select deleted.user_id is not null, deleted.picture
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
    AppsQueries.statements, KeyringQueries.all, PublicKeyQueries.statements, CallerQueries.all,
    HousekeepingQueries.all,
    UnusedQueries.all, SessionsQueries.all, FreshProofQueries.all, AuditQueries.all,
    DevicesQueries.all, AttemptQueries.all, AttemptLiftQueries.all,
    AttemptProofQueries.all, UsersQueries.all, PasswordQueries.all,
    EmailAddressQueries.all, ClaimQueries.all, EmailQueries.all,
    MailTokenQueries.all, EmailChangeQueries.all, EmailCodeQueries.all, KeptAnswerQueries.all,
    OutboxQueries.all,
    IdentitiesQueries.all, BeginningQueries.all, SignedSessionQueries.all, AccountClaimQueries.all,
    IssuerQueries.all, APIKeyQueries.all, WayInQueries.all,
    ProfileQueries.all,
    PropertyQueries.all, DocumentsQueries.all, DocumentHistoryQueries.all, PictureQueries.all,
    ExportQueries.all,
    AppsAdministrationQueries.all, AppsDeletionQueries.all, ClientQueries.all,
    IssuerAdministrationQueries.all,
    SigningKeyQueries.all, UsersAdministrationQueries.all, SessionsAdministrationQueries.all,
    TrailQueries.all, ImportQueries.all,
    UserExportQueries.all,
    SearchIndexQueries.all, SchemaQueries.statements,
    MasterKeysQueries.all, ResealingQueries.all, ReadinessQueries.all, HostQueries.all,
  ].flatMap(\.self)
}
