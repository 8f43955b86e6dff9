package import Postgres

/// Pieces of statements about the device `$1`.
extension SQL {
  /// The condition that the hash `$3` authenticates `devices d` in the app `$2`.
  package static let isProvedDevice: SQL = """
    d.device_id = $1 and d.app_id = $2 and (d.secret_hash = $3::bytea
        or d.previous_hash = $3::bytea and d.replaced_at > now() - interval '30 seconds')
    """

  /// The time before which users were chosen for whom the hash `$3` acts.
  ///
  /// A replaced secret never acts for the user of the login that replaced it.
  package static let provedUntil: SQL = """
    case when d.secret_hash = $3::bytea then 'infinity' else d.replaced_at end
    """

  /// The users of the device, with the live session of each and whether it is active.
  ///
  /// Without switching, no other user becomes active when the active one signs out. The subquery
  /// reads each user by its key with any statistics; a join could scan all users.
  package static func places(switching: SQL) -> SQL {
    """
    (
      select p.user_id, p.activated_at, s.session_id, s.session_id is not null as is_live,
        s.session_id is not null and row_number() over (
          order by \(switching) and s.session_id is null, p.activated_at desc, p.user_id) = 1
          and p.activated_at > coalesce(
            (select d.inactive_since from devices d where d.device_id = $1), '-infinity')
          as is_active
      from device_accounts p
      left join lateral (
        select s.session_id from sessions s
        where s.device_id = $1 and s.user_id = p.user_id and s.ended_at is null
          and s.expires_at > now()
          and (select u.blocked_at is null from users u where u.user_id = p.user_id)
        order by s.created_at desc, s.session_id desc limit 1
      ) s on true
      where p.device_id = $1
    )
    """
  }
}
