import EventLoop
package import Postgres

/// A session, with what its tokens are made of.
struct LiveSession: RowDecodable {
  let session: SessionID
  let device: DeviceID
  let scope: String
  let generation: Int
  let salt: [UInt8]

  init(from row: Row) throws(DatabaseError) {
    session = SessionID(trusted: try row.text(0))
    device = DeviceID(trusted: try row.text(1))
    scope = try row.text(2)
    generation = try row.int(3)
    salt = try row.binary(4)
  }
}

/// A session whose current refresh token is another than the one shown.
struct SupersededSession: RowDecodable {
  let live: LiveSession
  /// Whether the token shown is the predecessor, exchanged just now.
  let isRepeated: Bool

  init(from row: Row) throws(DatabaseError) {
    live = try LiveSession(from: row)
    isRepeated = try row.bool(5)
  }
}

package enum SessionsQueries {
  /// Writes the device if it is new, the user's place on it and the session, which replaces the one
  /// that the user had there.
  static let open = Statement<
    NoRow, UserID, SessionID, DeviceID, AppID, String, String, BinaryBytes, Int, String?, String?,
    BinaryBytes
  >(
    "sessions.open",
    """
    with device as (
      insert into devices (device_id, app_id, secret_hash) values ($3, $4, $11)
      on conflict (device_id) do update set last_seen_at = now()
        where devices.secret_hash = excluded.secret_hash
      returning device_id
    ), replaced as (
      update sessions s set ended_at = now(), end_reason = 'login'
      from device d where s.user_id = $1 and s.device_id = d.device_id and s.ended_at is null
    ), place as (
      insert into device_users (user_id, device_id, chosen_at)
      select $1, device_id, clock_timestamp() from device
      on conflict (user_id, device_id) do update set chosen_at = excluded.chosen_at
    ), login as (
      update users set last_login_at = now(), login_count = login_count + 1 where user_id = $1
    )
    insert into sessions (
      user_id, session_id, device_id, app_id, provider, scope, refresh_salt, expires_at, address,
      agent)
    select $1, $2, device_id, $4, $5, $6, $7, now() + $8::bigint * interval '1 second', $9::inet,
      $10
    from device
    """
  )

  /// Steps to the next refresh token; no row when the one shown is not the current one.
  static let rotate = Statement<LiveSession, UserID, SessionID, AppID, BinaryBytes, Int, Int>(
    "sessions.rotate",
    """
    update sessions s set refresh_generation = s.refresh_generation + 1, refreshed_at = now(),
      expires_at = now() + $6::bigint * interval '1 second'
    from caller($1, $2) c
    where s.user_id = c.user_id and s.session_id = $2 and s.app_id = $3 and s.refresh_salt = $4
      and s.refresh_generation = $5 and s.ended_at is null
    returning s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt
    """
  )

  /// Finds the session of a token that is not its current one.
  static let superseded = Statement<
    SupersededSession, UserID, SessionID, AppID, BinaryBytes, Int, Int
  >(
    "sessions.superseded",
    """
    select s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt,
      s.refresh_generation = $5 + 1 and s.refreshed_at > now() - $6::bigint * interval '1 second'
    from caller($1, $2) c join sessions s on s.user_id = c.user_id and s.session_id = $2
    where s.app_id = $3 and s.refresh_salt = $4
    """
  )

  /// Ends one session of the user, or all but one, and records why.
  ///
  /// - Parameter 2: the one to end; null for all.
  /// - Parameter 3: the one to spare; null for none.
  static let end = Statement<
    String, UserID, SessionID?, SessionID?, String, String, String?, String?
  >(
    "sessions.end",
    """
    with ended as (
      update sessions set ended_at = now(), end_reason = $4
      where user_id = $1 and ended_at is null
        and ($2::text is null or session_id = $2) and ($3::text is null or session_id <> $3)
      returning user_id, session_id, device_id, app_id
    )
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
    select user_id, new_object_id(), app_id, 'session_end', $5, session_id, device_id, $6::inet, $7,
      jsonb_build_object('reason', $4::text)
    from ended
    returning session_id
    """
  )

  /// The caller's sessions that count, the newest first; one row when the caller's does.
  static let list = Statement<JSONText, UserID, Authority>(
    "sessions.list",
    """
    select (select coalesce(json_agg(json_build_object(
        'id', s.session_id, 'device_id', s.device_id, 'provider', s.provider,
        'current', s.session_id = $2, 'address', host(s.address), 'agent', s.agent,
        'created_at', s.created_at, 'refreshed_at', s.refreshed_at, 'expires_at', s.expires_at)
        order by s.created_at desc, s.session_id), '[]')
      from sessions s
      where s.user_id = c.user_id and s.ended_at is null and s.expires_at > now())::text
    from caller($1, $2) c
    """
  )

  package static let all: [any PreparedStatement] = [open, rotate, superseded, end, list]
}

/// JSON as the database wrote it, on its way to a client.
package struct JSONText: RowDecodable, Sendable {
  package let bytes: [UInt8]

  package init(from row: Row) throws(DatabaseError) { bytes = try row.bytes(0) }
}
