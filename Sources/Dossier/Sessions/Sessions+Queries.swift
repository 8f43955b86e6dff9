import EventLoop
package import Postgres

/// A session whose refresh token was accepted.
struct RefreshedSession {
  let device: DeviceID
  let scope: String
}

extension RefreshedSession: RowDecodable {
  init(from row: Row) throws(DatabaseError) {
    device = DeviceID(trusted: try row.text(0))
    scope = try row.text(1)
  }
}

/// A session whose current refresh token is another than the one shown.
struct SupersededSession: RowDecodable {
  let generation: Int
  /// Nil unless the token shown is the predecessor, and within the grace.
  let session: RefreshedSession?

  init(from row: Row) throws(DatabaseError) {
    generation = try row.int(2)
    session = try row.bool(3) ? RefreshedSession(from: row) : nil
  }
}

package enum SessionsQueries {
  /// Writes a device, the user's place on it and the session.
  static let open = Statement<
    NoRow, UserID, SessionID, DeviceID, AppID, String, String, BinaryBytes, Int, String?, String?
  >(
    "sessions.open",
    """
    with device as (
      insert into devices (device_id, app_id) values ($3, $4)
    ), place as (
      insert into device_users (user_id, device_id, state) values ($1, $3, 'active')
    ), login as (
      update users set last_login_at = now(), login_count = login_count + 1 where user_id = $1
    )
    insert into sessions (
      user_id, session_id, device_id, app_id, provider, scope, refresh_hash, expires_at, address,
      agent)
    values ($1, $2, $3, $4, $5, $6, $7, now() + $8::bigint * interval '1 second', $9::inet, $10)
    """
  )

  /// Replaces the current refresh token by its successor; no row when it was not the current one.
  static let rotate = Statement<
    RefreshedSession, UserID, SessionID, AppID, BinaryBytes, BinaryBytes, Int
  >(
    "sessions.rotate",
    """
    update sessions s set refresh_previous_hash = s.refresh_hash, refresh_hash = $5,
      refresh_generation = s.refresh_generation + 1, refreshed_at = now(),
      expires_at = now() + $6::bigint * interval '1 second'
    from caller($1, $2) c
    where s.user_id = c.user_id and s.session_id = $2 and s.app_id = $3 and s.refresh_hash = $4
      and s.ended_at is null
    returning s.device_id, s.scope
    """
  )

  /// Finds the session of a token that is not its current one.
  static let predecessor = Statement<
    SupersededSession, UserID, SessionID, AppID, BinaryBytes, Int
  >(
    "sessions.predecessor",
    """
    select s.device_id, s.scope, s.refresh_generation,
      s.refresh_previous_hash is not distinct from $4
        and s.refreshed_at > now() - $5::bigint * interval '1 second'
    from caller($1, $2) c join sessions s on s.user_id = c.user_id and s.session_id = $2
    where s.app_id = $3
    """
  )

  /// Ends a session and records why; no row when it had ended.
  static let end = Statement<
    String, UserID, SessionID, String, EventID, String?, String?
  >(
    "sessions.end",
    """
    with ended as (
      update sessions set ended_at = now(), end_reason = $3
      where user_id = $1 and session_id = $2 and ended_at is null
      returning user_id, session_id, device_id, app_id
    ), place as (
      update device_users d set state = 'logged_out' from ended e
      where d.user_id = e.user_id and d.device_id = e.device_id
    )
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
    select user_id, $4, app_id, 'session_end', 'user', session_id, device_id, $5::inet, $6,
      jsonb_build_object('reason', $3)
    from ended
    returning session_id
    """
  )

  package static let all: [any PreparedStatement] = [open, rotate, predecessor, end]
}

package enum AuditQueries {
  /// Adds one fact to a user's trail.
  static let record = Statement<
    NoRow, UserID, EventID, AppID, String, String, SessionID?, DeviceID?, String?, String?, String
  >(
    "audit.record",
    """
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail)
    values ($1, $2, $3, $4, $5, $6, $7, $8::inet, $9, $10::jsonb)
    """
  )

  package static let all: [any PreparedStatement] = [record]
}
