package import Postgres
package import Runtime

/// The strength of a user's authentication on a device.
package enum Assurance: Int {
  /// By an API key, whose thief can log in on any number of devices.
  case apiKey
  case credential
  case secondFactor
}

/// The statements about a device, and about one user's account on it.
package enum DevicesQueries {
  /// Returns the device, whether its credential is valid or not.
  static let record = Statement<DeviceRecord, DeviceID, AppID, BinaryBytes>(
    "devices.record",
    """
    select \(.deviceState), d.app_id = $2 and d.secret_hash = $3::bytea,
      coalesce(\(.isProvedDevice), false), \(.provedUntil),
      d.last_seen_at < now() - interval '1 hour'
    from devices d where d.device_id = $1
    """)

  /// Locks the device and notes its use; returns no row if the device credential is not valid.
  static let use = Statement<DeviceRecord, DeviceID, AppID, BinaryBytes>(
    "devices.use",
    """
    update devices d set last_seen_at = now() where \(.isProvedDevice)
    returning \(.deviceState), d.secret_hash = $3::bytea, true, \(.provedUntil), false
    """)

  package static let lock = Statement<DeviceState, DeviceID>(
    "devices.lock", "select \(.deviceState) from devices d where d.device_id = $1 for no key update"
  )

  /// Returns a user of the device; no row for a user who has no account there.
  ///
  /// - Parameter 3: whether a session must have passed a second factor, or need none.
  static let user = Statement<DeviceUser, UserID, DeviceID, Bool>(
    "devices.user",
    """
    select \(.liveSession),
      p.user_id, p.activated_at, u.anonymous, u.name, u.nickname,
      case when u.blocked_at is null then u.email end, u.picture, u.locale,
      s.style, s.provider, floor(extract(epoch from s.authenticated_at))::bigint,
      has_second_factor(s.amr), meets_mfa($3::boolean, s.amr, s.provider, u.anonymous)
    from device_accounts p
    join users u on u.user_id = $1
    left join sessions s on s.user_id = $1 and u.blocked_at is null and s.session_id = (
      select o.session_id from sessions o
      where o.user_id = $1 and o.device_id = $2 and o.ended_at is null and o.expires_at > now()
      order by o.created_at desc, o.session_id desc limit 1)
    where p.user_id = $1 and p.device_id = $2
    """)

  /// Returns how well a user has authenticated on the device.
  static let assurance = Statement<Int, UserID, DeviceID>(
    "devices.assurance",
    "select assurance from device_accounts where user_id = $1 and device_id = $2"
  )

  /// Makes a user the last activated one of the device.
  ///
  /// - Parameter 3: the time of the transaction.
  /// - Parameter 4: a time after all earlier activations on the device, which a clock may precede.
  static let activate = Statement<NoRow, UserID, DeviceID, ServerTime, Timestamp>(
    "devices.activate",
    """
    update device_accounts set activated_at = greatest($3::timestamptz, $4::timestamptz)
    where user_id = $1 and device_id = $2
    """)

  /// Leaves the device without an active user until one is activated later than `$2`; null ends that.
  static let deactivate = Statement<NoRow, DeviceID, Timestamp?>(
    "devices.deactivate", "update devices set inactive_since = $2::timestamptz where device_id = $1"
  )

  /// Extends a session by a refresh of its device; returns no row if it has ended.
  ///
  /// A refresh counts as a use of the session. Otherwise the session limit would end it, and the
  /// maintenance would delete an anonymous user as unused.
  /// - Parameter 4: the longest lifetime of a session; null for no limit.
  /// - Parameter 5: the name of its style.
  /// - Parameter 6: whether the session must have passed a second factor, or need none.
  static let refresh = Statement<
    LiveSession, UserID, SessionID, Duration, Duration?, String, Bool
  >(
    "devices.refresh",
    """
    update sessions s set refreshed_at = now(),
      expires_at = \(.end(after: "$3::interval", atMost: .sum("s.created_at", "$4::interval")))
    from users c
    where s.user_id = $1 and c.user_id = $1 and s.session_id = $2 and c.blocked_at is null
      and s.ended_at is null and s.expires_at > now() and s.style = $5
      and \(.isRefreshable(longest: "$4::interval", mfa: "$6::boolean"))
    returning \(.liveSession)
    """)

  /// Ends the sessions of a user on the device, and those of clients in the same browser.
  ///
  /// Returns them. Changes nothing if the device does not know the user.
  /// - Parameter 3: why they end.
  /// - Parameter 4: the time before which the user was activated; null for any time.
  static let leave = Statement<StandingSession, UserID, DeviceID, String, Timestamp?>(
    "devices.leave",
    """
    update sessions s set ended_at = now(), end_reason = $3
    where s.user_id = $1 and s.ended_at is null and (s.device_id = $2
        or s.browser_id = $2 and not (\(.staysOffline)))
      and exists (
        select 1 from device_accounts p
        where p.user_id = $1 and p.device_id = $2
          and p.activated_at < coalesce($4::timestamptz, 'infinity'))
    returning s.session_id, s.device_id
    """)

  /// Deletes the user's account on the device.
  static let removeAccount = Statement<NoRow, UserID, DeviceID>(
    "devices.remove_account", "delete from device_accounts where user_id = $1 and device_id = $2"
  )

  /// Removes a user from the device's list.
  static let removeUser = Statement<NoRow, DeviceID, UserID>(
    "devices.remove_user",
    "update devices set user_ids = array_remove(user_ids, $2) where device_id = $1"
  )

  /// Replaces the device's list of users, unless it has changed meanwhile.
  static let replaceUsers = Statement<NoRow, DeviceID, String, TextArray>(
    "devices.replace_users",
    """
    update devices set user_ids = $3::text[] where device_id = $1 and user_ids = $2::text[]
    """)

  package static let all: [any PreparedStatement] = [
    record, use, lock, user, assurance, activate, deactivate, refresh, leave, removeAccount,
    removeUser, replaceUsers,
  ]
}
