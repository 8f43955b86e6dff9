package import Runtime
package import Postgres

/// A user of a device, with its live session there, if any.
struct DevicePlaceRow: RowDecodable {
  package let user: UserID?
  let live: LiveSession?
  let isActive: Bool
  var isKnown: Bool { user != nil }

  init(from row: Row) throws(DatabaseError) {
    live = row.isNull(0) ? nil : try LiveSession(from: row)
    user = row.id(ifAny: 5)
    isActive = row.isNull(6) ? false : try row.bool(6)
  }
}

/// A user whom a device has logged out or forgotten.
struct LeftPlace: RowDecodable {
  let isKnown: Bool
  /// The session on the device that has ended.
  let session: SessionID?
  /// Whether a session has ended, there or of a client in the same browser.
  let hasEnded: Bool

  init(from row: Row) throws(DatabaseError) {
    isKnown = try row.bool(0)
    session = row.id(ifAny: 1)
    hasEnded = try row.bool(2)
  }
}

/// A user with the session that has ended; nil for none.
struct EndedPlace: RowDecodable {
  let user: UserID?
  let session: SessionID?
  let device: DeviceID?

  init(from row: Row) throws(DatabaseError) {
    user = row.id(ifAny: 0)
    session = row.id(ifAny: 1)
    device = row.id(ifAny: 2)
  }
}

/// A user who is known on a device.
package struct DeviceUser: RowDecodable {
  package enum State: Sendable {
    case active
    /// Logged in, and not active.
    case inactive
    case loggedOut
  }

  package let user: UserID
  package let activatedAt: Timestamp
  package let state: State
  package let isAnonymous: Bool
  package let name: String?
  package let nickname: String?
  package let email: String?
  /// The same value as in the profile.
  package let picture: String?

  package init(from row: Row) throws(DatabaseError) {
    user = try row.id(0)
    activatedAt = try row.time(1)
    state = try !row.bool(2) ? .loggedOut : row.bool(3) ? .active : .inactive
    isAnonymous = try row.bool(4)
    name = row.text(ifAny: 5)
    nickname = row.text(ifAny: 6)
    email = row.text(ifAny: 7)
    picture = row.text(ifAny: 8)
  }
}

/// A device whose credential a client has sent.
package struct DeviceRecord: RowDecodable {
  /// Whether the client's secret is the current one.
  let isCurrent: Bool
  /// Whether the secret is the current one, or the previous one within its grace period.
  let isRight: Bool
  /// The strength of each user's authentication on the device.
  private let users: [Substring: Assurance]

  package init(from row: Row) throws(DatabaseError) {
    isCurrent = try row.bool(0)
    isRight = try row.bool(1)
    users = Dictionary(
      try row.text(2).split(separator: " ").compactMap { place in
        Assurance(rawValue: place.utf8.last ?? 0).map { (place.dropLast(), $0) }
      }
    ) { first, _ in first }
  }

  /// Returns whether the user has authenticated on the device with at least that strength.
  package func knows(_ user: UserID?, _ assurance: Assurance) -> Bool {
    guard isRight, let user, let known = users[user.text[...]] else { return false }
    return known.rawValue >= assurance.rawValue
  }

  /// The users of the device, in the order in which transactions lock them.
  var lockOrder: [UserID] { users.keys.sorted().map { UserID(trusted: String($0)) } }

  /// Returns whether the device has room for this user.
  func hasRoom(for user: UserID) -> Bool {
    users.keys.filter { $0 != user.text }.count < Devices.limit
  }
}

/// The strength of a user's authentication on a device, as the database prints it.
package enum Assurance: UInt8 {
  /// By an API key, whose thief can log in on any number of devices.
  case apiKey = 0x30
  case credential = 0x31
  case secondFactor = 0x32
}

package enum DevicesQueries {
  /// Returns the device and the users known on it.
  static let record = Statement<DeviceRecord, DeviceID, AppID, BinaryBytes>(
    "devices.record",
    """
    select d.app_id = $2 and d.secret_hash = $3::bytea, coalesce(\(.isProvedDevice), false),
      coalesce((
        select string_agg(p.user_id || p.assurance::text, ' ') from device_accounts p
        where p.device_id = d.device_id), '')
    from devices d where d.device_id = $1
    """
  )

  /// Returns at least one row if the device credential is valid.
  ///
  /// - Parameter 4: whether another user becomes active when the active user logs out.
  static let list = Statement<Found<DeviceUser>, DeviceID, AppID, BinaryBytes, Bool>(
    "devices.list",
    """
    select u.user_id, p.activated_at, p.is_live, p.is_active, u.anonymous, u.name, u.nickname,
      case when u.blocked_at is null then u.email end, u.picture
    from devices d
    left join lateral \(.places(switching: "$4::boolean")) p on p.activated_at < \(.provedUntil)
    left join users u on u.user_id = p.user_id
    where \(.isProvedDevice)
    order by p.is_active desc, p.activated_at desc, p.user_id
    """
  )

  /// Returns one row if the device credential is valid.
  ///
  /// Its columns are null if the device does not know the user. They are also null if the user has
  /// no live session there for that protocol.
  /// - Parameter 6: whether the session must have passed a second factor, or need none.
  static let activate = Statement<
    DevicePlaceRow, DeviceID, AppID, BinaryBytes, UserID, String, Bool
  >(
    "devices.activate",
    """
    with device as (
      update devices d set last_seen_at = now(),
        inactive_since = case when not exists (
          select 1 from \(.places(switching: "true")) a where a.user_id = $4 and a.is_live)
          then d.inactive_since end
      where \(.isProvedDevice) returning d.device_id, \(.provedUntil) as until
    ), place as (
      select p.user_id, s.session_id, p.is_active
      from device d cross join \(.places(switching: "true")) p
      left join sessions s
        on s.user_id = p.user_id and s.session_id = p.session_id and s.style = $5
        and meets_mfa($6::boolean, s.amr, s.provider,
          (select a.anonymous from users a where a.user_id = s.user_id))
      where p.user_id = $4 and p.activated_at < d.until
    ), chosen as (
      update device_accounts p set activated_at = clock_timestamp() from place
      where p.device_id = $1 and p.user_id = place.user_id and place.session_id is not null
    )
    select s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt, place.user_id,
      place.is_active
    from device left join place on true
    left join sessions s on s.user_id = place.user_id and s.session_id = place.session_id
    """
  )

  /// Returns one row if the device credential is valid.
  ///
  /// Its columns are null if no user is active, or the user is not logged in. If the app forbids
  /// switching, only the active user can refresh. A refresh counts as a use of the session.
  /// Otherwise the session limit would end it, and the maintenance would delete an anonymous user as
  /// unused.
  /// - Parameter 6: the user; null for the active user.
  /// - Parameter 7: the longest lifetime of a session; null for no limit.
  /// - Parameter 9: whether the session must have passed a second factor, or need none.
  static let refresh = Statement<
    DevicePlaceRow, DeviceID, AppID, BinaryBytes, Duration, Bool, String?, Duration?, String,
    Bool
  >(
    "devices.refresh",
    """
    with device as (
      update devices d set last_seen_at = now()
      where \(.isProvedDevice) returning d.device_id, \(.provedUntil) as until
    ), session as (
      update sessions s set refreshed_at = now(),
        expires_at = least(now() + $4::interval, \(.sum("s.created_at", "$7::interval")))
      from device d cross join \(.places(switching: "$5::boolean")) p
      where coalesce(p.user_id = $6::text, true) and (p.is_active or $5 and $6::text is not null)
        and p.activated_at < d.until and s.user_id = p.user_id
        and s.session_id = p.session_id and s.ended_at is null and s.style = $8
        and ($7::interval is null or \(.sum("s.created_at", "$7::interval")) > now())
        and meets_mfa($9::boolean, s.amr, s.provider,
          (select a.anonymous from users a where a.user_id = s.user_id))
      returning s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt, s.user_id
    )
    select s.session_id, s.device_id, s.scope, s.refresh_generation, s.refresh_salt, s.user_id, true
    from device left join session s on true
    """
  )

  /// Returns one row if the device credential is valid: whether the device knew the user, and what
  /// has ended.
  ///
  /// - Parameters:
  ///   - 6: whether the device stays without an active user.
  ///   - 7: whether the app lets a device switch users. If not, no other user becomes active in
  ///     place of the user who was chosen last. That also holds if the device forgets that user.
  static let leave = Statement<
    LeftPlace, DeviceID, AppID, BinaryBytes, UserID, Bool, Bool, Bool
  >(
    "devices.leave",
    """
    with device as (
      update devices d set last_seen_at = now(),
        inactive_since = case when case when $7::boolean
          then $6::boolean and exists (
            select 1 from \(.places(switching: "true")) a where a.user_id = $4 and a.is_active)
          else $4 = (
            select u.user_id from device_accounts u where u.device_id = d.device_id
            order by u.activated_at desc, u.user_id limit 1) end
          then clock_timestamp() else d.inactive_since end
      where \(.isProvedDevice) returning d.device_id, \(.provedUntil) as until
    ), place as (
      select p.user_id from device_accounts p join device d on d.device_id = p.device_id
      where p.user_id = $4 and p.activated_at < d.until
    ), ended as (
      update sessions s set ended_at = now(),
        end_reason = case when $5::boolean then 'device_remove' else 'device_logout' end
      from place p where s.user_id = p.user_id and s.ended_at is null and (s.device_id = $1
        or s.browser_id = $1 and ' ' || s.scope || ' ' not like '% offline_access %')
      returning s.session_id, s.device_id
    ), forgotten as (
      delete from device_accounts d using place p
      where $5::boolean and d.user_id = p.user_id and d.device_id = $1
    )
    select place.user_id is not null, e.session_id, e.has_ended
    from device left join place on true
    cross join (
      select min(session_id) filter (where device_id = $1) as session_id, count(*) > 0 as has_ended
      from ended
    ) e
    """
  )

  /// Logs all users of a device out; returns at least one row if the device credential is valid.
  ///
  /// The rows are the users with the sessions that have ended.
  static let leaveAll = Statement<EndedPlace, DeviceID, AppID, BinaryBytes>(
    "devices.leave_all",
    """
    with device as (
      update devices d set last_seen_at = now()
      where \(.isProvedDevice) returning d.device_id, \(.provedUntil) as until
    ), ended as (
      update sessions s set ended_at = now(), end_reason = 'device_logout'
      from device d join device_accounts p on p.device_id = d.device_id and p.activated_at < d.until
      where s.user_id = p.user_id and s.ended_at is null and (s.device_id = $1
        or s.browser_id = $1 and ' ' || s.scope || ' ' not like '% offline_access %')
      returning s.user_id, s.session_id, s.device_id
    )
    select e.user_id, e.session_id, e.device_id from device left join ended e on true
    """
  )

  static let lock = Statement<String, DeviceID>(
    "devices.lock",
    "select device_id from devices where device_id = $1 for no key update"
  )

  /// Leaves a device without an active user until one is chosen, if this user is active there.
  static let deactivate = Statement<NoRow, DeviceID, UserID>(
    "devices.deactivate",
    """
    update devices set inactive_since = clock_timestamp()
    where device_id = $1 and exists (
      select 1 from \(.places(switching: "true")) p where p.user_id = $2 and p.is_active)
    """
  )

  package static let all: [any PreparedStatement] = [
    record, list, activate, refresh, leave, leaveAll, lock, deactivate,
  ]
}
