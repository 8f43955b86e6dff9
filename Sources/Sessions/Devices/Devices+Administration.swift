import EventLoop
package import Postgres
package import Runtime

/// The devices of users, as administrators see them.
extension Devices {
  /// Returns the devices on which a user is known, the newest first.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - cursor: the `next` of the previous page; nil for the first page.
  ///   - count: from 1 to `PageLimit.most`.
  ///   - context: the context of the request.
  /// - Returns: the page.
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func page(
    of user: UserID, before cursor: DeviceID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> Page<DeviceOfUser> {
    let found = try await context.list(
      DeviceAdministrationQueries.page, user, context.principal, cursor, count)
    guard var devices = found else { throw context.gone }
    try await addTimes(to: &devices, context)
    return Page(devices, of: count)
  }

  /// Returns a device on which a user is known.
  ///
  /// - Throws: `.notFound` also for a device that does not know the user, `.databaseUnavailable`.
  @EventLoop package static func find(
    _ device: DeviceID, of user: UserID, _ context: RequestContext
  ) async throws(Failure) -> DeviceOfUser {
    let found = try await context.list(
      DeviceAdministrationQueries.one, user, context.principal, device)
    guard var devices = found, !devices.isEmpty else { throw context.gone }
    try await addTimes(to: &devices, context)
    return devices[0]
  }

  /// Adds what the devices themselves know, which may be on other nodes.
  @EventLoop private static func addTimes(
    to devices: inout [DeviceOfUser], _ context: RequestContext
  ) async throws(Failure) {
    let app = context.app.id
    let calls = devices.map { PendingQuery(DeviceAdministrationQueries.times, $0.id, app) }
    let times = try await context.read(DeviceAdministrationQueries.times, calls)
    for (index, rows) in times.enumerated() { devices[index].times = rows.first }
  }

  /// Returns a device of the app with its users, the active user first.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func find(
    _ device: DeviceID, _ context: RequestContext
  ) async throws(Failure) -> (times: DeviceTimes, users: [DeviceUser]) {
    let found = try await context.first(DeviceAdministrationQueries.times, device, context.app.id)
    guard let found else { throw .notFound }
    let calls = found.state.users.map { read($0, on: device, context) }
    let rows = try await context.read(DevicesQueries.user, calls)
    let users = DeviceUsers(rows.compactMap(\.first), on: found.state)
    let switching = context.app.sessionSettings.allowsSwitching
    return (found, users.shown(switching: switching) { _ in true })
  }

  /// Makes a device forget a user, and ends the user's sessions there.
  ///
  /// - Throws: `.notFound` also for a device that does not know the user, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ user: UserID, from device: DeviceID, _ context: RequestContext
  ) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      try await Sessions.lockUser(user, in: transaction)
      guard let state = try await transaction.run(DevicesQueries.lock, device).first else {
        throw .notFound
      }
      let users = try await users(of: device, state, in: transaction)
      guard users[user] != nil else { throw .notFound }
      try await leave(
        user, on: device, among: users, isForgotten: true, .mostRecent,
        by: transaction.principal, in: transaction)
    }
  }
}

/// A device on which a user is known.
package struct DeviceOfUser: Listed {
  package let id: DeviceID
  /// When the user last signed in there, or was switched to.
  package let activatedAt: Timestamp
  /// The number of live sessions.
  package let sessions: Int
  /// The `User-Agent` of the user's latest sign-in there; nil if it is unknown.
  package let agent: String?
  /// The name of the client of that sign-in; nil without one.
  package let client: String?
  /// Nil if the device was removed meanwhile.
  package fileprivate(set) var times: DeviceTimes?

  package var cursor: DeviceID { id }

  package init(from row: Row) throws(DatabaseError) {
    id = try row.id(0)
    activatedAt = try row.time(1)
    sessions = try row.int(2)
    agent = row.text(ifAny: 3)
    client = row.text(ifAny: 4)
  }
}

/// The times of a device, and its users.
package struct DeviceTimes: RowDecodable {
  let state: DeviceState
  package let createdAt: Timestamp
  package let lastSeenAt: Timestamp

  package init(from row: Row) throws(DatabaseError) {
    state = try DeviceState(from: row)
    createdAt = try row.time(2)
    lastSeenAt = try row.time(3)
  }
}

extension SQL {
  /// The columns of a `DeviceOfUser`, of the account `p`.
  fileprivate static let deviceOfUser: SQL = """
    p.device_id, p.activated_at,
      (select count(*) from sessions s where s.user_id = $1 and s.device_id = p.device_id
        and s.ended_at is null and s.expires_at > now()) as sessions,
      l.agent, l.client
    """

  /// The latest session of the user `$1` on the device of the account `p`, also one that has ended.
  fileprivate static let latestSession: SQL = """
    left join lateral (
        select s.agent, k.name as client from sessions s
        left join clients k on k.client_id = s.client_id
        where s.user_id = $1 and s.device_id = p.device_id
        order by s.session_id desc limit 1
      ) l on true
    """
}

package enum DeviceAdministrationQueries {
  /// Returns at least one row if the principal may access the user.
  ///
  /// Served by the primary keys.
  static let page = Statement<Found<DeviceOfUser>, UserID, Principal, DeviceID?, Int>(
    "device_administration.page",
    """
    select p.device_id, p.activated_at, p.sessions, p.agent, p.client from users c
    left join lateral (
      select \(.deviceOfUser) from device_accounts p
      \(.latestSession)
      where p.user_id = $1 and p.device_id < coalesce($3, 'g')
      order by p.device_id desc limit $4::bigint
    ) p on true
    where \(.isAuthorized)
    order by p.device_id desc
    """)

  /// Returns one row if the principal may access the user.
  ///
  /// Served by the primary keys.
  static let one = Statement<Found<DeviceOfUser>, UserID, Principal, DeviceID>(
    "device_administration.one",
    """
    select p.device_id, p.activated_at, p.sessions, p.agent, p.client from users c
    left join lateral (
      select \(.deviceOfUser) from device_accounts p
      \(.latestSession)
      where p.user_id = $1 and p.device_id = $3
    ) p on true
    where \(.isAuthorized)
    """)

  /// Served by the primary key.
  static let times = Statement<DeviceTimes, DeviceID, AppID>(
    "device_administration.times",
    """
    select \(.deviceState), d.created_at, d.last_seen_at from devices d
    where d.device_id = $1 and d.app_id = $2
    """)
}
