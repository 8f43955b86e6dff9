import EventLoop
import JSON
package import Postgres
import RateLimiting
package import Runtime

/// Devices, and the users known on each.
///
/// A user of a device is active, inactive (logged in all the same) or logged out. These states are
/// derived: a user with a live session on the device is logged in. The logged-in user who was
/// chosen last is active.
///
/// A device lists its users, and each user has an account on the device. In a distributed database,
/// both can be on different nodes. The account decides: a listed user without one is not known.
package enum Devices {
  /// The greatest number of users known on one device.
  package static let limit = 20

  /// Returns the users of the device, the active user first, then the most recently chosen.
  ///
  /// A request looks them up once, and again after it has written.
  /// - Parameters:
  ///   - isLatest: whether to read on the lane of writes.
  ///   - context: the context of the request.
  /// - Returns: the device, and the users for whom its credential acts.
  /// - Throws: `.deviceUnknown`, `.databaseUnavailable`.
  @EventLoop package static func list(
    isLatest: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> (device: DeviceID, users: [DeviceUser]) {
    let proof = try known(context)
    if let listed = context.listedUsers, listed.isLatest || !isLatest {
      guard let users = listed.users else { throw .deviceUnknown }
      return (proof.id, users)
    }
    let users = try await found(by: proof, on: isLatest ? .exclusive : nil, context)
    context.listedUsers = ListedUsers(isLatest: isLatest, users: users)
    guard let users else { throw .deviceUnknown }
    return (proof.id, users)
  }

  /// Returns the users for whom a credential acts; nil if it is not valid.
  @EventLoop private static func found(
    by proof: DeviceCredential, on lane: DatabaseLane?, _ context: RequestContext
  ) async throws(Failure) -> [DeviceUser]? {
    let call = read(proof, context)
    let found = try await context.read(DevicesQueries.record, [call], on: lane)
    guard let record = found[0].first, record.isRight else { return nil }
    let calls = record.state.users.map { read($0, on: proof.id, context) }
    let rows = try await context.read(DevicesQueries.user, calls, on: lane)
    let users = DeviceUsers(rows.compactMap(\.first), on: record.state)
    return users.reached(by: record, switching: context.app.sessionSettings.allowsSwitching)
  }

  /// Makes a user who is logged in on the device its active user.
  ///
  /// - Throws: `.switchingForbidden`, `.deviceUnknown`, `.notFound` if the device does not know the
  ///   user, `.notLoggedIn`, `.tooManyRequests`, `.databaseUnavailable`.
  @EventLoop package static func activate(
    _ user: UserID, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let proof = try known(context)
    guard context.app.sessionSettings.allowsSwitching else { throw .switchingForbidden }
    let limit = RateLimitSet([.ofUser(.session, user, context)], context)
    let live = try await context.transaction { transaction async throws(Failure) in
      let record = try await use(proof, in: transaction)
      let users = try await users(of: proof.id, record.state, in: transaction)
      guard let found = users[user], record.reaches(found) else { throw .notFound }
      guard let session = found.session, session.isUsable(as: style) else { throw .notLoggedIn }
      let earlier = max(
        users.latest?.microseconds ?? 0, record.state.inactiveSince?.microseconds ?? 0
      )
      _ = transaction.send(
        DevicesQueries.activate, user, proof.id, ServerTime(), Timestamp(microseconds: earlier + 1)
      )
      if record.state.inactiveSince != nil {
        _ = transaction.send(DevicesQueries.deactivate, proof.id, nil)
      }
      if users.active(switching: true)?.user != user {
        try await limit.sendSpending(in: transaction)()
        let session = session.live.session
        self.record("device_switch", of: user, session, proof.id, in: transaction)
      }
      return session.live
    }
    return OpenSession(live, of: user, as: style, context)
  }

  /// Sends the event of a user on a device, of which the user is the actor without a principal.
  @EventLoop private static func record(
    _ action: String, of user: UserID, _ session: SessionID?, _ device: DeviceID,
    by principal: Principal? = nil, in transaction: Transaction
  ) {
    let place = EventPlace(session: session, device: device)
    Event(action, of: user, at: place)
      .record(in: transaction, by: principal ?? .user(of: transaction.app.id))
  }

  /// Renews the session of a browser that has its device credential in a cookie.
  ///
  /// If the app forbids switching, only the active user can refresh. The time of the device's last
  /// use is an hour old at most.
  /// - Parameters:
  ///   - user: the user of the session; nil for the active user. A page that names its user keeps
  ///     that user when another page switches.
  ///   - style: the protocol of the wire; sessions of other protocols do not count.
  ///   - context: the context of the request.
  /// - Returns: the session.
  /// - Throws: `.deviceUnknown`, `.sessionEnded` if the user is not logged in or no user is
  ///   active, `.databaseUnavailable`.
  @EventLoop package static func refresh(
    of user: UserID?, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> OpenSession {
    let proof = try known(context)
    let settings = context.app.sessionSettings
    var batch = ReadBatch()
    let device = batch.add([read(proof, context)]).lowerBound
    // The account of a named user takes no round trip of its own.
    let named =
      settings.allowsSwitching
      ? user.map { batch.add([read($0, on: proof.id, context)]).lowerBound } : nil
    let results = try await context.read(batch)
    guard let record: DeviceRecord = try results.first(device), record.isRight else {
      throw .deviceUnknown
    }
    var found: DeviceUser?
    if let named {
      found = try results.first(named)
    } else {
      let calls = record.state.users.map { read($0, on: proof.id, context) }
      let rows = try await context.read(DevicesQueries.user, calls)
      found = DeviceUsers(rows.compactMap(\.first), on: record.state)
        .active(switching: settings.allowsSwitching)
    }
    guard let found, user == nil || user == found.user, record.reaches(found),
      record.state.users.contains(found.user), let session = found.session
    else { throw .sessionEnded }
    let live = try await context.transaction { transaction async throws(Failure) in
      if record.isStale { _ = send(DevicesQueries.use, proof, in: transaction) }
      let refreshed = transaction.send(
        DevicesQueries.refresh, found.user, session.live.session, settings.sessionLifetime,
        settings.longestSession, style.name, settings.mfa == .required
      )
      transaction.sendCommit()
      return try await refreshed.rows().first
    }
    guard let live else { throw .sessionEnded }
    return OpenSession(live, of: found.user, as: style, context)
  }

  /// Logs a user out of the device; changes nothing if the user is already logged out.
  ///
  /// - Throws: `.deviceUnknown`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func logout(
    _ user: UserID, next: NextActive, _ context: RequestContext
  ) async throws(Failure) {
    try await leave(user, isForgotten: false, next, context)
  }

  /// Makes the device forget a user and ends the user's session there; the user itself stays.
  ///
  /// - Throws: `.deviceUnknown`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ user: UserID, next: NextActive, _ context: RequestContext
  ) async throws(Failure) {
    try await leave(user, isForgotten: true, next, context)
  }

  @EventLoop private static func leave(
    _ user: UserID, isForgotten: Bool, _ next: NextActive, _ context: RequestContext
  ) async throws(Failure) {
    let proof = try known(context)
    try await context.transaction { transaction async throws(Failure) in
      // A client that exchanges a code now runs before this, or finds the session ended.
      _ = transaction.send(SessionsQueries.lockUser, user)
      let record = try await use(proof, in: transaction)
      let users = try await users(of: proof.id, record.state, in: transaction)
      guard let found = users[user], record.reaches(found) else { throw .notFound }
      try await leave(
        user, on: proof.id, among: users, until: record.until, isForgotten: isForgotten, next,
        by: .user(of: context.app.id), in: transaction)
    }
  }

  /// Lets a user leave a device in a transaction, which has locked both, and records it.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - device: the device.
  ///   - users: the users of the device.
  ///   - until: the time before which the user was activated; nil for any time.
  ///   - isForgotten: whether the device forgets the user.
  ///   - next: the next active user of the device.
  ///   - principal: the actor of the event.
  ///   - transaction: the transaction.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop static func leave(
    _ user: UserID, on device: DeviceID, among users: DeviceUsers, until: Timestamp? = nil,
    isForgotten: Bool, _ next: NextActive, by principal: Principal, in transaction: Transaction
  ) async throws(Failure) {
    let action = isForgotten ? "device_remove" : "device_logout"
    let leaving = transaction.send(DevicesQueries.leave, user, device, action, until)
    // Without switching, no other user becomes active in place of the user who was chosen last.
    let staysInactive =
      transaction.app.sessionSettings.allowsSwitching
      ? next == .none && users.active(switching: true)?.user == user
      : users.all.first?.user == user
    if staysInactive { _ = transaction.send(DevicesQueries.deactivate, device, users.latest) }
    if isForgotten {
      _ = transaction.send(DevicesQueries.removeUser, device, user)
      _ = transaction.send(DevicesQueries.removeAccount, user, device)
    }
    let ended = try await leaving.rows()
    guard isForgotten || !ended.isEmpty else { return }
    let session = ended.first { $0.device == device }?.session
    record(action, of: user, session, device, by: principal, in: transaction)
  }

  /// Leaves the device of a session without an active user, before its user logs out.
  ///
  /// The transaction has locked the user.
  @EventLoop package static func deactivate(
    _ user: UserID, in transaction: Transaction
  ) async throws(Failure) {
    guard let device = transaction.principal.device,
      let state = try await transaction.run(DevicesQueries.lock, device).first
    else { return }
    let users = try await users(of: device, state, in: transaction)
    guard users.active(switching: true)?.user == user else { return }
    _ = transaction.send(DevicesQueries.deactivate, device, users.latest)
  }

  /// Logs all users of the device out.
  ///
  /// - Throws: `.deviceUnknown`, `.databaseUnavailable`.
  @EventLoop package static func logoutAll(_ context: RequestContext) async throws(Failure) {
    let proof = try known(context)
    try await context.transaction { transaction async throws(Failure) in
      let before = try await send(DevicesQueries.record, proof, in: transaction).rows()
      for user in before.first?.state.users.sorted(by: { $0.text < $1.text }) ?? [] {
        _ = transaction.send(SessionsQueries.lockUser, user)
      }
      let record = try await use(proof, in: transaction)
      let leaving = record.state.users.map { user in
        let reason = "device_logout"
        return (user, transaction.send(DevicesQueries.leave, user, proof.id, reason, record.until))
      }
      for (user, sent) in leaving {
        for ended in try await sent.rows() {
          self.record("device_logout", of: user, ended.session, ended.device, in: transaction)
        }
      }
    }
  }
}

/// The reads of a device and of its users.
extension Devices {
  @EventLoop static func known(_ context: RequestContext) throws(Failure) -> DeviceCredential {
    guard let proof = context.device else { throw .deviceUnknown }
    return proof
  }

  @EventLoop static func read(
    _ proof: DeviceCredential, _ context: RequestContext
  ) -> PendingQuery {
    let hash = proof.secret.hash(context.keys.master)
    return PendingQuery(DevicesQueries.record, proof.id, context.app.id, hash)
  }

  @EventLoop static func read(
    _ user: UserID, on device: DeviceID, _ context: RequestContext
  ) -> PendingQuery {
    let isRequired = context.app.sessionSettings.mfa == .required
    return PendingQuery(DevicesQueries.user, user, device, isRequired)
  }

  @EventLoop static func send(
    _ statement: Statement<DeviceRecord, DeviceID, AppID, BinaryBytes>, _ proof: DeviceCredential,
    in transaction: Transaction
  ) -> Sent<DeviceRecord> {
    let hash = proof.secret.hash(transaction.context.keys.master)
    return transaction.send(statement, proof.id, transaction.app.id, hash)
  }

  /// Locks the device of a valid credential and returns it; throws `.deviceUnknown`.
  @EventLoop static func use(
    _ proof: DeviceCredential, in transaction: Transaction
  ) async throws(Failure) -> DeviceRecord {
    let used = try await send(DevicesQueries.use, proof, in: transaction).rows()
    guard let record = used.first else { throw .deviceUnknown }
    return record
  }

  /// Returns the users of a locked device.
  @EventLoop static func users(
    of device: DeviceID, _ state: DeviceState, in transaction: Transaction
  ) async throws(Failure) -> DeviceUsers {
    let isRequired = transaction.app.sessionSettings.mfa == .required
    let reads = state.users.map {
      transaction.send(DevicesQueries.user, $0, device, isRequired)
    }
    var users: [DeviceUser] = []
    for read in reads { users += try await read.rows() }
    return DeviceUsers(users, on: state)
  }
}

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
      s.amr, meets_mfa($3::boolean, s.amr, s.provider, u.anonymous)
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
        or s.browser_id = $2 and \(.endsWithBrowser))
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
}

/// Pieces of statements about the device `$1`.
extension SQL {
  /// The condition that the hash `$3` authenticates `devices d` in the app `$2`.
  static let isProvedDevice: SQL = """
    d.device_id = $1 and d.app_id = $2 and (d.secret_hash = $3::bytea
        or d.previous_hash = $3::bytea and d.replaced_at > now() - interval '30 seconds')
    """

  /// The columns of a `DeviceState`.
  static let deviceState: SQL = "d.user_ids, d.inactive_since"

  /// The time before which users were activated for whom the hash `$3` acts; null for all users.
  ///
  /// A replaced secret never acts for the user of the login that replaced it.
  static let provedUntil: SQL = "case when d.secret_hash <> $3::bytea then d.replaced_at end"
}

extension Failure {
  package static let deviceUnknown = Failure("device_unknown", .unauthenticated)
    .titled("The device secret is missing or not valid.")
    .remedied(
      "Send the device_secret of the last sign-in as Dossier-Device. If that response was lost, "
        + "sign in without a secret, as a new device. If a cookie holds the device, serve the page "
        + "and the server from one site, or set the app's device_cookie_same_site to none; "
        + "localhost and 127.0.0.1 are two sites."
    )
  package static let switchingForbidden = Failure("switching_forbidden", .forbidden)
    .titled("The app requires users to sign in when they switch.")
    .remedied("Ask the user to sign in, or set the app's switching to allow.")
  /// A browser sent its cookie for a page whose origin the app does not allow.
  package static let originForbidden = Failure("origin_forbidden", .forbidden)
    .titled("Pages of this origin may not use the device cookie.")
    .remedied(
      "Add the origin to the app's setting: dossier app set --app APP allowed_origins=ORIGIN, "
        + "with the value of the Origin header field."
    )
  package static let deviceFull = Failure("device_full", .conflict)
    .titled("The device has the maximum number of users.")
    .remedied("Remove a user from the device: DELETE /v1/device/users/{user}.")
  package static let notLoggedIn = Failure("not_logged_in", .conflict)
    .titled("The user is not signed in on the device.")
    .remedied("Ask the user to sign in on the device.")
}

extension Failure {}
