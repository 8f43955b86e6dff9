package import Runtime
import EventLoop
package import Postgres

/// A session, with what its tokens are made of.
package struct LiveSession: RowDecodable {
  package let session: SessionID
  package let device: DeviceID
  package let scope: String
  package let generation: Int
  package let salt: [UInt8]
  /// The new secret of the device, where the session has brought one.
  package var deviceSecret: Credential?

  /// A session that is about to be created.
  package init(on device: DeviceID, scope: String, deviceSecret: Credential) {
    session = SessionID()
    self.device = device
    self.scope = scope
    generation = 1
    salt = Credential.salt()
    self.deviceSecret = deviceSecret
  }

  package init(from row: Row) throws(DatabaseError) {
    session = SessionID(trusted: try row.text(0))
    device = DeviceID(trusted: try row.text(1))
    scope = try row.text(2)
    generation = try row.int(3)
    salt = try row.binary(4)
  }
}

/// A session whose current refresh token is not the presented one.
struct SupersededSession: RowDecodable {
  let live: LiveSession
  /// Whether the presented token is the predecessor, exchanged just now.
  let isRepeated: Bool

  init(from row: Row) throws(DatabaseError) {
    live = try LiveSession(from: row)
    isRepeated = try row.bool(5)
  }
}

package enum SessionsQueries {
  /// Locks a user: the first statement of every transaction that changes or uses credentials.
  package static let lockUser = Statement<String, UserID>(
    "sessions.lock_user",
    "select user_id from users where user_id = $1 for no key update"
  )

  /// Writes the device with its new secret, and so locks it.
  ///
  /// Undoes the transaction if the device has another secret than the one that was sent. Concurrent
  /// sign-ins on one device, or of one user, run one after the other from here.
  /// - Parameter 4: the hash of the secret that was sent; null for a new device.
  /// - Parameter 5: that of the new one.
  package static let enter = Statement<NoRow, UserID, DeviceID, AppID, BinaryBytes?, BinaryBytes>(
    "sessions.enter",
    """
    with device as (
      insert into devices as d (device_id, app_id, secret_hash) values ($2, $3, $5::bytea)
      on conflict (device_id) do update set last_seen_at = now(),
        secret_hash = case
          when require(d.app_id = excluded.app_id and d.secret_hash = $4::bytea) then $5::bytea end,
        previous_hash = $4::bytea, replaced_at = now(), inactive_since = null
      returning d.device_id
    )
    update users u set last_login_at = now(), login_count = login_count + 1
    from device where u.user_id = $1
    """
  )

  /// Writes the user's place on the device, the session and the event.
  ///
  /// Undoes the transaction if the device has no room. Runs after `enter`, whose locks protect the
  /// counts. Ends the sessions that the user has on the device, unless the style keeps them. Of the
  /// others it keeps as many as fit beside this one: those used last. Served by `sessions_live`.
  /// - Parameter 11: how many users there may be on the device.
  /// - Parameter 12: how many sessions the user may have. At most a hundred end at once, so that a
  ///   user with many more can still sign in.
  /// - Parameter 13: the API key that signs in; null for none.
  /// - Parameter 14: when the user authenticated, in seconds since 1970; null for now.
  /// - Parameter 15: the style of its tokens.
  /// - Parameter 16: the id of the audit entry.
  /// - Parameter 17: the authentication methods.
  /// - Parameter 18: whether the sessions on the device stay.
  /// - Parameter 19: the client of OpenID Connect that signs the user in; null for none.
  /// - Parameter 20: the resource server of its tokens; null for none.
  package static let open = Statement<
    NoRow, UserID, SessionID, DeviceID, AppID, String, String, BinaryBytes, Duration, String?,
    String?,
    Int, Int, APIKeyID?, Int?, String, EventID, String, Bool, ClientID?, String?
  >(
    "sessions.open",
    """
    with room as (
      select require((
        select count(*) from device_users where device_id = $3 and user_id <> $1) < $11::bigint)
    ), replaced as (
      update sessions s set ended_at = now(), end_reason = 'login'
      from room
      where s.user_id = $1 and s.device_id = $3 and s.ended_at is null and not $18::boolean
    ), surplus as (
      update sessions s set ended_at = now(), end_reason = 'session_limit'
      where s.user_id = $1 and s.session_id = any (array(
        select o.session_id::text from sessions o cross join room
        where o.user_id = $1 and (o.device_id <> $3 or $18::boolean) and o.ended_at is null
          and o.expires_at > now()
        order by o.refreshed_at desc, o.session_id desc offset $12::bigint - 1 limit 100))
      returning s.session_id, s.device_id
    ), facts as (
      select record_event($1, $4, 'session_end', 'user', session_id, device_id, $9::inet, $10,
        '{"reason": "session_limit"}')
      from surplus
      union all
      select record_event($1, $4, 'login', 'user', $2, $3, $9::inet, $10,
        jsonb_strip_nulls(jsonb_build_object('provider', $5::text, 'client_id', $19::text)), $16)
      from room
    ), place as (
      insert into device_users as p (user_id, device_id, chosen_at, assurance)
      select $1, $3, clock_timestamp(),
        case when has_second_factor($17) then 2 when $13::text is null then 1 else 0 end
      from room
      on conflict (user_id, device_id) do update set chosen_at = excluded.chosen_at,
        assurance = greatest(p.assurance, excluded.assurance)
    )
    insert into sessions (
      user_id, session_id, device_id, app_id, provider, scope, refresh_salt, expires_at, address,
      agent, key_id, authenticated_at, style, amr, client_id, audience)
    select $1, $2, $3, $4, $5, $6, $7, now() + $8::interval, $9::inet, $10, $13,
      least(coalesce(to_timestamp($14::bigint), now()), now()), $15, $17, $19, $20
    from room where (select count(*) from facts) > 0
    """
  )

  /// Replaces a session by another on the same device with the same scope.
  ///
  /// Returns no row if the session has ended. Tokens of the old session are of no use for the new one.
  /// - Parameter 3: the new one.
  /// - Parameter 4: why the old one ends.
  /// - Parameters 5, 10, 11, 12: as 5, 13, 14 and 15 of `open`. A null 5 keeps the credential of the
  ///   old session.
  /// - Parameter 15: the authentication methods of a second factor; empty for none.
  static let renew = Statement<
    LiveSession, UserID, SessionID, SessionID, String, String?, BinaryBytes, Duration, String?,
    String?,
    APIKeyID?, Int?, String, Bool, BinaryBytes?, String
  >(
    "sessions.renew",
    """
    with old as (
      update sessions set ended_at = now(), end_reason = $4
      where user_id = $1 and session_id = $2 and ended_at is null and expires_at > now()
        and meets_mfa($13::boolean, amr, provider, provider = 'anonymous')
      returning device_id, app_id, scope, amr, provider, key_id, authenticated_at
    ), device as (
      update devices d set secret_hash = $14::bytea, previous_hash = null, replaced_at = now()
      from old where d.device_id = old.device_id and $14::bytea is not null
    ), place as (
      update device_users p set assurance = 2
      from old where p.user_id = $1 and p.device_id = old.device_id and has_second_factor($15)
    )
    insert into sessions (
      user_id, session_id, device_id, app_id, provider, scope, refresh_salt, expires_at,
      address, agent, key_id, authenticated_at, style, amr)
    select $1, $3, device_id, app_id,
      case provider when 'api-key' then provider else coalesce($5, provider) end, scope, $6,
      now() + $7::interval, $8::inet, $9,
      case provider when 'api-key' then key_id else $10 end,
      case when $5 is null then authenticated_at
        else least(coalesce(to_timestamp($11::bigint), now()), now()) end, $12,
      case when has_second_factor(amr) then amr else btrim(amr || ' ' || $15) end
    from old
    returning session_id, device_id, scope, refresh_generation, refresh_salt
    """
  )

  /// Returns the provider of the caller's session; no row if it is not live.
  static let provider = Statement<String, UserID, Principal>(
    "sessions.provider",
    """
    select s.provider from users c join sessions s on s.user_id = $1 and s.session_id = $2
    where \(.isAuthorized)
    """
  )

  /// Rotates the refresh token of a session.
  ///
  /// Returns no row if the presented token is not the current one, or belongs to another wire or
  /// client. Nor does it return one if the session has lasted for the longest time.
  /// - Parameter 7: how long that is; null for ever.
  /// - Parameter 10: whether the session must have had a second factor, or need none.
  static let rotate = Statement<
    LiveSession, UserID, SessionID, AppID, BinaryBytes, Int, Duration, Duration?, String, String?,
    Bool
  >(
    "sessions.rotate",
    """
    update sessions s set refresh_generation = s.refresh_generation + 1, refreshed_at = now(),
      expires_at = least(now() + $6::interval,
        s.created_at + $7::interval)
    from users c
    where \(.isAuthorized) and s.user_id = $1 and s.session_id = $2 and s.app_id = $3
      and s.refresh_salt = $4
      and s.refresh_generation = $5 and s.ended_at is null and s.style = $8
      and s.client_id is not distinct from $9
      and meets_mfa($10::boolean, s.amr, s.provider, c.anonymous)
      and ($7::interval is null or s.created_at + $7::interval > now())
    returning s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt
    """
  )

  /// Finds the session of a token that is not its current one.
  static let superseded = Statement<
    SupersededSession, UserID, SessionID, AppID, BinaryBytes, Int, Duration, String, String?
  >(
    "sessions.superseded",
    """
    select s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt,
      s.refresh_generation = $5 + 1 and s.refreshed_at > now() - $6::interval
    from users c join sessions s on s.user_id = $1 and s.session_id = $2
    where \(.isAuthorized) and s.app_id = $3 and s.refresh_salt = $4 and s.style = $7
      and s.client_id is not distinct from $8
    """
  )

  /// Ends one session of the user, or all but one, and records why.
  ///
  /// With all sessions, the places on devices are removed, except that of the spared session.
  /// - Parameter 2: the one to end; null for all.
  /// - Parameter 3: the one to spare; null for none.
  /// - Parameter 8: the API key that opened them; null for any credential.
  static let end = Statement<
    String, UserID, SessionID?, SessionID?, String, String, String?, String?, APIKeyID?
  >(
    "sessions.end",
    "select session_id from end_sessions($1, $4, $5, $6::inet, $7, $2, $3, $8) as e (session_id)"
  )

  /// A page of the caller's live sessions, the newest first; one row at least when the caller's is.
  ///
  /// Served by `sessions_live`: ids sort by time.
  static let page = Statement<Found<SessionInfo>, UserID, Principal, SessionID?, Int>(
    "sessions.page",
    """
    select s.id, s.device_id, s.provider, s.address, s.agent, s.created_at,
      s.refreshed_at, s.expires_at
    from users c
    left join lateral (
      select s.id, s.device_id, s.provider, s.address, s.agent, s.created_at,
        s.refreshed_at, s.expires_at
      from live_sessions s
      where s.user_id = $1 and s.id < coalesce($3, 'g')
      order by s.id desc limit $4::bigint
    ) s on true
    where \(.isAuthorized)
    order by s.id desc
    """
  )

  package static let all: [any PreparedStatement] = [
    lockUser,
    enter, open, renew, provider, rotate, superseded, end, page,
  ]
}
