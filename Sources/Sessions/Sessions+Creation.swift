package import Tenancy
package import Postgres
package import Runtime

/// The statements of a sign-in, in their order in the transaction.
package enum SessionCreationQueries {
  /// Writes the device with its new secret and the user, and so locks it.
  ///
  /// Undoes the transaction if the device has another secret than the one that was sent. Concurrent
  /// sign-ins on one device run one after the other from here.
  /// - Parameter 3: the hash of the secret that was sent; null for a new device.
  /// - Parameter 4: that of the new one.
  package static let enterDevice = Statement<
    NoRow, DeviceID, AppID, BinaryBytes?, BinaryBytes, UserID
  >(
    "sessions.enter_device",
    """
    insert into devices as d (device_id, app_id, secret_hash, last_seen_at, user_ids)
    values ($1, $2, $4::bytea, now(), array[$5::text])
    on conflict (device_id) do update set last_seen_at = excluded.last_seen_at,
      secret_hash = case
        when require(d.app_id = excluded.app_id and d.secret_hash = $3::bytea)
        then excluded.secret_hash end,
      previous_hash = $3::bytea, replaced_at = excluded.last_seen_at, inactive_since = null,
      user_ids = case when d.user_ids @> excluded.user_ids then d.user_ids
        else d.user_ids || excluded.user_ids end
    """)

  /// Undoes the transaction if the device has no room for the user, whom `enterDevice` has added.
  ///
  /// - Parameter 2: how many users there may be on the device.
  package static let requireRoom = Statement<NoRow, DeviceID, Int>(
    "sessions.require_room",
    "select require(cardinality(user_ids) <= $2::bigint) from devices where device_id = $1"
  )

  /// Counts the sign-in of a new user; `makeRoom` counts that of any other.
  package static let countLogin = Statement<NoRow, UserID>(
    "sessions.count_login",
    "update users set last_login_at = now(), login_count = login_count + 1 where user_id = $1"
  )

  /// Counts the sign-in of the user, and ends sessions before the new one.
  ///
  /// They are those on the device, unless they stay. Of the others it keeps as many as fit beside
  /// the new one: those used last. Sessions of API keys end before others, and those of the key that
  /// signs in first. So a program that signs in often does not end the sessions of its owner. Served
  /// by `sessions_live`.
  /// - Parameter 2: the device.
  /// - Parameter 3: whether the sessions on the device stay.
  /// - Parameter 4: how many sessions the user may have. At most a hundred end at once, so that a
  ///   user with many more can still sign in.
  /// - Parameter 5: the API key that signs in; null for none.
  package static let makeRoom = Statement<NoRow, UserID, DeviceID, Bool, Int, APIKeyID?>(
    "sessions.make_room",
    """
    with counted as (
      update users set last_login_at = now(), login_count = login_count + 1 where user_id = $1)
    update sessions s set ended_at = now(),
      end_reason = case when s.device_id = $2 and not $3::boolean then 'login'
        else 'session_limit' end
    where s.user_id = $1 and s.ended_at is null
      and (s.device_id = $2 and not $3::boolean or s.session_id = any (array(
        select o.session_id from sessions o
        where o.user_id = $1 and (o.device_id <> $2 or $3::boolean) and o.ended_at is null
          and o.expires_at > now()
        order by coalesce(o.key_id = $5, false), o.provider = 'api-key', o.refreshed_at desc,
          o.session_id desc
        offset $4::bigint - 1 limit 100)))
    """)

  /// Records the sessions that `makeRoom` has ended in this transaction because of the limit.
  ///
  /// The ids of the events are made of one id and the sessions'. Served by `sessions_by_time`: the
  /// sessions had not expired.
  /// - Parameter 2: the id of an event.
  /// - Parameter 3: the time of the transaction.
  package static let recordSurplus = Statement<
    NoRow, UserID, EventID, ServerTime, String?, String?, String?
  >(
    "sessions.record_surplus",
    """
    insert into audit (
      user_id, event_id, app_id, action, actor, session_id, device_id, address, agent, detail,
      request_id)
    select s.user_id, left($2, 13) || substr(md5(s.session_id || $2), 1, 11), s.app_id,
      'session_end', 'user', s.session_id, s.device_id, $4::inet, $5, '{"reason": "session_limit"}',
      $6
    from sessions s
    where s.user_id = $1 and least(s.ended_at, s.expires_at) = $3::timestamptz
      and s.end_reason = 'session_limit'
    """)

  /// Writes the user's place on the device.
  ///
  /// - Parameter 3: the authentication methods.
  /// - Parameter 4: whether an API key signs in.
  package static let enterPlace = Statement<NoRow, UserID, DeviceID, String, Bool>(
    "sessions.enter_place",
    """
    insert into device_accounts as p (user_id, device_id, activated_at, assurance)
    values ($1, $2, clock_timestamp(),
      case when has_second_factor($3) then 2 when $4::boolean then 0 else 1 end)
    on conflict (user_id, device_id) do update set activated_at = excluded.activated_at,
      assurance = greatest(p.assurance, excluded.assurance)
    """)

  /// Writes the session.
  ///
  /// - Parameter 11: the API key or the passkey that signs in; null for another credential.
  /// - Parameter 12: when the user authenticated, in seconds since 1970; null for now.
  /// - Parameter 13: the style of its tokens.
  /// - Parameter 14: the authentication methods.
  /// - Parameter 15: the client of OpenID Connect that signs the user in; null for none.
  /// - Parameter 16: the resource server of its tokens; null for none.
  /// - Parameter 17: the issuer of its tokens; null for none.
  /// - Parameter 18: whether the client gets a message when the session ends.
  /// - Parameter 19: the session at the issuer that has signed the user in; null if unknown.
  package static let insert = Statement<
    NoRow, UserID, SessionID, DeviceID, AppID, IdentityProvider, String, BinaryBytes, Duration,
    String?, String?, IdentityID?, Int?, String, String, ClientID?, String?, String?, Bool, String?
  >(
    "sessions.insert",
    """
    insert into sessions (
      user_id, session_id, device_id, app_id, provider, scope, refresh_salt, expires_at, address,
      agent, key_id, authenticated_at, style, amr, client_id, audience, issuer, notifies,
      issuer_session)
    values ($1, $2, $3, $4, $5, $6, $7, now() + $8::interval, $9::inet, $10, $11,
      least(coalesce(to_timestamp($12::bigint), now()), now()), $13, $14, $15, $16, $17,
      $18, $19)
    """)
}
