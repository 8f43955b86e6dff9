package import Postgres

/// A user whose row is locked.
struct LockedUser: RowDecodable {
  let version: Int
  let isBlocked: Bool
  let email: String?

  init(from row: Row) throws(DatabaseError) {
    version = try row.int(0)
    isBlocked = try row.bool(1)
    email = row.text(ifAny: 2)
  }
}

/// A user with what a profile does not have.
package struct UserDetails: Sendable {
  package let profile: Profile
  package let lastLoginAt: Timestamp?
  package let loginCount: Int
  /// The oldest first.
  package let identities: [IdentityInfo]
  /// The live ones, the newest first.
  package let sessions: [SessionInfo]
}

/// When a user came, and how often.
struct LoginHistory: RowDecodable {
  let last: Timestamp?
  let count: Int

  init(from row: Row) throws(DatabaseError) {
    last = try row.time(ifAny: 0)
    count = try row.int(1)
  }
}

package enum UsersAdministrationQueries {
  /// Served by `users_by_app`.
  static let page = Statement<Profile, AppID, UserID?, Int>(
    "users.page",
    """
    select p.id, p.created_at, p.updated_at, p.version, p.anonymous, p.blocked, p.email,
      p.email_verified, p.name, p.given_name, p.family_name, p.nickname, p.phone, p.locale,
      p.zone, p.picture
    from users u cross join lateral profile_of(u) p
    where u.app_id = $1 and u.user_id > coalesce($2, '')
    order by u.user_id limit $3::bigint
    """
  )

  static let logins = Statement<LoginHistory, UserID, AppID>(
    "users.logins",
    "select last_login_at, login_count from users where user_id = $1 and app_id = $2"
  )

  /// An issuer's word for an address counts last: it was not proved here.
  static let holders = Statement<String, AppID, String>(
    "users.holders",
    """
    with confirmed as (
      select user_id from identity_subjects
      where app_id = $1 and provider = 'email' and subject = email_key($2)
    )
    select user_id from confirmed
    union all
    (select user_id from unconfirmed_emails
      where app_id = $1 and email_key = email_key($2) and not exists (select from confirmed)
      order by created_at limit 10)
    """
  )

  static let lock = Statement<LockedUser, UserID, AppID>(
    "users.lock",
    """
    select version, blocked_at is not null, email from users
    where user_id = $1 and app_id = $2 for update
    """
  )

  static let setBlocked = Statement<NoRow, UserID, Bool>(
    "users.set_blocked",
    """
    update users set blocked_at = case when $2::boolean then now() end, version = version + 1,
      updated_at = now()
    where user_id = $1
    """
  )

  static let delete = Statement<ReplacedPicture, UserID>(
    "users.remove",
    """
    with subjects as (delete from identity_subjects where user_id = $1)
    delete from users where user_id = $1
    returning picture
    """
  )

  package static let all: [any PreparedStatement] = [
    page, logins, holders, lock, setBlocked, delete,
  ]
}
