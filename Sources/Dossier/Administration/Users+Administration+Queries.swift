import JSON
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

/// A profile with what else there is to tell of the user.
struct UserDetails: RowDecodable {
  let json: JSON

  init(from row: Row) throws(DatabaseError) {
    var all = JSONObject()
    for column in [0, 1] {
      let part = try? JSON.parse(try row.bytes(column))
      for (name, value) in part?.object ?? JSONObject() { all[name] = value }
    }
    json = .object(all)
  }
}

package enum UsersAdministrationQueries {
  /// Served by `users_by_app`.
  static let page = Statement<Page<UserID>, AppID, UserID?, Int>(
    "users.page",
    """
    select coalesce(json_agg(profile_of(u)::json order by u.user_id), '[]')::text,
      case when count(*) = $3::bigint then max(u.user_id::text) end
    from (
      select * from users
      where app_id = $1 and ($2::text is null or user_id > $2)
      order by user_id limit $3::bigint
    ) p join users u on u.user_id = p.user_id
    """
  )

  /// What a profile does not have.
  static let details = Statement<UserDetails, UserID, AppID>(
    "users.details",
    """
    select profile_of(u), json_build_object(
      'last_login_at', u.last_login_at, 'login_count', u.login_count,
      'identities', (select coalesce(json_agg(json_build_object(
          'id', i.identity_id, 'provider', i.provider, 'subject', i.subject,
          'created_at', i.created_at) order by i.created_at, i.identity_id), '[]')
        from identities i where i.user_id = u.user_id),
      'sessions', (select coalesce(json_agg(json_build_object(
          'id', s.session_id, 'device_id', s.device_id, 'provider', s.provider,
          'address', host(s.address), 'agent', s.agent, 'created_at', s.created_at,
          'refreshed_at', s.refreshed_at, 'expires_at', s.expires_at)
          order by s.session_id desc), '[]')
        from (select * from sessions s
          where s.user_id = u.user_id and s.ended_at is null and s.expires_at > now()
          order by s.session_id desc limit 1000) s))::text
    from users u where u.user_id = $1 and u.app_id = $2
    """
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
    returning substr(picture, length('/v1/pictures/') + 1)
    """
  )

  package static let all: [any PreparedStatement] = [
    page, details, holders, lock, setBlocked, delete,
  ]
}
