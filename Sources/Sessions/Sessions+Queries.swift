import Tenancy
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
  /// How many seconds the client must wait, after too many refreshes.
  let wait: Int

  init(from row: Row) throws(DatabaseError) {
    live = try LiveSession(from: row)
    isRepeated = try row.bool(5)
    wait = try row.int(6)
  }
}

extension SQL {
  /// The columns of a `LiveSession`, of the session `s`.
  static let liveSession: SQL =
    "s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt"

  /// The condition that the settings of the app let a live session `s` of the user `c` refresh.
  ///
  /// - Parameters:
  ///   - longest: how long a session may last; null for ever.
  ///   - mfa: whether it must have had a second factor, or need none.
  /// - Returns: the condition.
  package static func isRefreshable(longest: SQL, mfa: SQL) -> SQL {
    """
    meets_mfa(\(mfa), s.amr, s.provider, c.anonymous)
      and (\(longest) is null or \(.sum("s.created_at", longest)) > now())
    """
  }

  /// The condition that a session `s` of a client has a refresh token.
  package static let isOffline: SQL = "' ' || s.scope || ' ' like '% offline_access %'"

  /// The condition that a session `s` of a client ends when the user signs out of its browser.
  ///
  /// A single page app keeps its refresh tokens in the tabs of that browser. Other clients keep them on a
  /// server, or in an app of the device.
  package static let endsWithBrowser: SQL = """
    (not (\(.isOffline)) or exists (
      select n.client_id from clients n
      where n.client_id = s.client_id and n.app_id = s.app_id and n.kind = 'single_page'))
    """

  /// The end of a session `s` after a refresh.
  ///
  /// It moves in steps of a fiftieth of the lifetime. So most refreshes change no index, which
  /// halves their writes.
  static func end(after lifetime: SQL, atMost end: SQL) -> SQL {
    "least(date_bin(\(lifetime) / 50, now() + \(lifetime), timestamptz 'epoch'), \(end))"
  }
}

package enum SessionsQueries {
  /// Locks a user: the first statement of every transaction that changes or uses credentials.
  package static let lockUser = Statement<String, UserID>(
    "sessions.lock_user", "select user_id from users where user_id = $1 for no key update"
  )

  /// Ends a session that is about to be replaced; changes nothing if it has ended.
  ///
  /// - Parameter 3: the time of the transaction.
  /// - Parameter 4: why it ends.
  /// - Parameter 5: whether it must have had a second factor, or need none.
  static let retire = Statement<NoRow, UserID, SessionID, ServerTime, String, Bool>(
    "sessions.retire",
    """
    update sessions s set ended_at = $3::timestamptz, end_reason = $4
    from users c
    where s.user_id = $1 and c.user_id = $1 and s.session_id = $2 and s.ended_at is null
      and s.expires_at > $3::timestamptz
      and meets_mfa($5::boolean, s.amr, s.provider, c.anonymous)
    """)

  /// Creates the session in place of one that this transaction has retired.
  ///
  /// It has the same device and scope. The session of an API key stays one, unless the key was
  /// deleted. The session of a passkey stays one, unless the user shows another credential. Returns no row if none was retired. Tokens of the old session
  /// are of no use for the new one.
  /// - Parameter 3: the time of the transaction.
  /// - Parameter 4: the new one.
  /// - Parameters 5, 10, 11, 12: as 5, 11, 12 and 13 of
  ///   `SessionCreationQueries.insert`. A null 5 keeps the credential of
  ///   the old session.
  /// - Parameter 13: the authentication methods of a second factor; empty for none.
  /// - Parameter 14: as 19 there, for a credential.
  static let renew = Statement<
    LiveSession, UserID, SessionID, ServerTime, SessionID, IdentityProvider?, BinaryBytes, Duration,
    String?, String?, IdentityID?, Int?, String, String, String?
  >(
    "sessions.renew",
    """
    insert into sessions as n (
      user_id, session_id, device_id, app_id, provider, scope, refresh_salt, expires_at,
      address, agent, key_id, authenticated_at, style, amr, issuer_session)
    select o.user_id, $4, o.device_id, o.app_id,
      case when k.key_id is null then coalesce($5, o.provider) else o.provider end, o.scope,
      $6, now() + $7::interval, $8::inet, $9,
      coalesce(k.key_id, case when $5::text is null then p.passkey_id else $10 end),
      case when $5::text is null then o.authenticated_at
        else least(coalesce(to_timestamp($11::bigint), now()), now()) end, $12,
      case when has_second_factor(o.amr) then o.amr else btrim(o.amr || ' ' || $13) end,
      case when $5::text is null then o.issuer_session else $14 end
    from sessions o left join api_keys k on k.user_id = $1 and k.key_id = o.key_id
      left join passkeys p on p.user_id = $1 and p.passkey_id = o.key_id
    where o.user_id = $1 and o.session_id = $2 and o.ended_at = $3::timestamptz
    returning n.session_id, n.device_id, n.scope, n.refresh_generation, n.refresh_salt
    """)

  /// Notes that the user has passed a second factor on the device.
  static let raiseAssurance = Statement<NoRow, UserID, DeviceID, String>(
    "sessions.raise_assurance",
    """
    update device_accounts set assurance = 2
    where user_id = $1 and device_id = $2 and has_second_factor($3)
    """)

  static let replaceSecret = Statement<NoRow, DeviceID, BinaryBytes>(
    "sessions.replace_secret",
    """
    update devices set secret_hash = $2, previous_hash = null, replaced_at = now()
    where device_id = $1
    """)

  /// Returns the caller's session; no row if it is not live.
  ///
  /// - Parameter 3: whether a session needs a second factor.
  static let ofCaller = Statement<CallerSession, UserID, Principal, Bool>(
    "sessions.of_caller",
    """
    select s.provider, s.style, meets_mfa($3::boolean, s.amr, s.provider, c.anonymous)
    from users c join sessions s on s.user_id = $1 and s.session_id = $2
    where \(.isAuthorized)
    """)

  /// Rotates the refresh token of a session.
  ///
  /// Returns no row if the presented token is not the current one, or belongs to another wire or
  /// client. Returns no row after the longest duration of a session. Returns no row over the limit
  /// of refreshes.
  /// - Parameter 7: how long that is; null for ever.
  /// - Parameter 10: whether the session must have had a second factor, or need none.
  /// - Parameter 11: how long one refresh counts.
  /// - Parameter 12: how long the refreshes before this one may count together.
  static let rotate = Statement<
    LiveSession, UserID, SessionID, AppID, BinaryBytes, Int, Duration, Duration?, String, String?,
    Bool, Duration, Duration
  >(
    "sessions.rotate",
    """
    update sessions s set refresh_generation = s.refresh_generation + 1, refreshed_at = now(),
      expires_at = \(.end(after: "$6::interval", atMost: .sum("s.created_at", "$7::interval"))),
      refresh_theoretical_arrival_at = \(.sum("greatest(s.refresh_theoretical_arrival_at, now())", "$11::interval"))
    from users c
    where \(.isAuthorized) and s.user_id = $1 and s.session_id = $2 and s.app_id = $3
      and s.refresh_salt = $4
      and s.refresh_generation = $5 and s.ended_at is null and s.style = $8
      and s.client_id is not distinct from $9
      and \(.isRefreshable(longest: "$7::interval", mfa: "$10::boolean"))
      and s.refresh_theoretical_arrival_at - now() <= $12::interval
    returning \(.liveSession)
    """)

  /// Finds the session of a token that `rotate` refused.
  ///
  /// - Parameter 9: how long the refreshes may count together.
  static let superseded = Statement<
    SupersededSession, UserID, SessionID, AppID, BinaryBytes, Int, Duration, String, String?,
    Duration
  >(
    "sessions.superseded",
    """
    select \(.liveSession),
      s.refresh_generation = $5 + 1 and s.refreshed_at > now() - $6::interval,
      greatest(0, ceil(extract(epoch from s.refresh_theoretical_arrival_at - now() - $9::interval)))::bigint
    from users c join sessions s on s.user_id = $1 and s.session_id = $2
    where \(.isAuthorized) and s.app_id = $3 and s.refresh_salt = $4 and s.style = $7
      and s.client_id is not distinct from $8
    """)

  /// Ends one session of the user, or all but one, and returns them.
  ///
  /// With one at the hosted pages, it ends those of clients in the same browser.
  /// - Parameter 2: the one to end; null for all.
  /// - Parameter 3: the one to spare; null for none.
  /// - Parameter 4: why they end.
  /// - Parameter 5: the API key or the passkey that opened them; null for any credential. It ends
  ///   sessions of keys that name none too.
  /// - Parameter 6: the provider of the identity that signed in; null for any. A code and a password
  ///   belong to one identity, and sessions do not tell passwords apart.
  static let end = Statement<
    StandingSession, UserID, SessionID?, SessionID?, String, IdentityID?, IdentityProvider?
  >(
    "sessions.end",
    """
    update sessions s set ended_at = now(), end_reason = $4
    where s.user_id = $1 and s.ended_at is null
      and ($2::text is null or s.session_id = $2
        or \(.endsWithBrowser) and s.browser_id = (
          select o.device_id from sessions o where o.user_id = $1 and o.session_id = $2))
      and ($3::text is null or s.session_id <> $3)
      and ($5::text is null or s.key_id = $5 or s.provider = 'api-key' and s.key_id is null)
      and ($6::text is null or s.provider = $6
        or $6 in ('password', 'linked-password', 'email')
          and s.provider in ('password', 'email'))
    returning s.session_id, s.device_id
    """)

  /// Queues the ends of a user's sessions that are not published.
  ///
  /// The events have the ids of the sessions, by which a feed knows those that it has.
  static let keepUnpublishedEnds = Statement<NoRow, UserID>(
    "sessions.keep_unpublished_ends",
    """
    insert into unpublished_changes
      (user_id, event_id, app_id, ordinal, session_id, what, device_id, detail)
    select user_id, session_id, app_id, (extract(epoch from ended_at) * 1000000)::bigint,
      session_id, 'session_end', device_id,
      jsonb_strip_nulls(jsonb_build_object('client_id', client_id, 'reason', end_reason))
    from sessions
    where user_id = $1 and ended_at is not null and revocation_position is null
    """)

  /// Removes the user from devices, and returns them.
  ///
  /// Citus cannot plan the deletion if null makes the subquery empty.
  /// - Parameter 2: the session whose device is spared; null for none.
  static let leaveDevices = Statement<DeviceID, UserID, SessionID?>(
    "sessions.leave_devices",
    """
    delete from device_accounts p
    where p.user_id = $1 and not exists (
      select 1 from sessions s
      where s.user_id = $1 and s.session_id = coalesce($2, '') and s.device_id = p.device_id)
    returning p.device_id
    """)

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
    """)
}
