package import Runtime
import EventLoop
import JSON
import Postgres

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
  /// - Parameters:
  ///   - isLatest: whether to read on the lane of writes.
  ///   - context: the context of the request.
  /// - Returns: the device, and the users for whom its credential acts.
  /// - Throws: `.deviceUnknown`, `.databaseUnavailable`.
  @EventLoop package static func list(
    isLatest: Bool = false, _ context: RequestContext
  ) async throws(Failure) -> (device: DeviceID, users: [DeviceUser]) {
    let proof = try known(context)
    let call = read(proof, context)
    let found = try await context.read(DevicesQueries.record, [call], isLatest: isLatest)
    guard let record = found[0].first, record.isRight else { throw .deviceUnknown }
    let calls = record.state.users.map { read($0, on: proof.id, context) }
    let rows = try await context.read(DevicesQueries.user, calls, isLatest: isLatest)
    let users = DeviceUsers(rows.compactMap(\.first), on: record.state)
    let switching = context.app.sessionSettings.allowsSwitching
    return (proof.id, users.reached(by: record, switching: switching))
  }

  /// Makes a user who is logged in on the device its active user.
  ///
  /// - Throws: `.switchingForbidden`, `.deviceUnknown`, `.notFound` if the device does not know the
  ///   user, `.notLoggedIn`, `.tooManyRequests`, `.databaseUnavailable`.
  @EventLoop package static func activate(
    _ user: UserID, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    let proof = try known(context)
    guard context.app.sessionSettings.allowsSwitching else { throw .switchingForbidden }
    let limit = RateLimitSet([.ofUser(.session, user, context)], context)
    let live = try await context.transaction { transaction async throws(Failure) in
      let record = try await use(proof, in: transaction)
      let users = try await users(of: proof.id, record.state, in: transaction)
      guard let found = users[user], record.reaches(found) else { throw Failure.notFound }
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
    return try await Sessions.grant(live, of: user, as: style, context)
  }

  /// Sends the event of a user on a device.
  @EventLoop private static func record(
    _ action: String, of user: UserID, _ session: SessionID?, _ device: DeviceID,
    in transaction: Transaction
  ) {
    let place = EventPlace(session: session, device: device)
    Event(action, of: user, at: place).record(in: transaction, by: .user(of: transaction.app.id))
  }

  /// Returns new tokens for a browser that has its device credential in a cookie.
  ///
  /// If the app forbids switching, only the active user can refresh. The time of the device's last
  /// use is an hour old at most.
  /// - Parameters:
  ///   - user: the user of the tokens; nil for the active user. A page that names its user keeps
  ///     that user when another page switches.
  ///   - style: the protocol of the wire; sessions of other protocols do not count.
  ///   - context: the context of the request.
  /// - Returns: the tokens.
  /// - Throws: `.deviceUnknown`, `.sessionEnded` if the user is not logged in or no user is
  ///   active, `.databaseUnavailable`.
  @EventLoop package static func refresh(
    of user: UserID?, as style: SessionStyle = .native, _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
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
    return try await Sessions.grant(live, of: found.user, as: style, context)
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
      guard let found = users[user], record.reaches(found) else { throw Failure.notFound }
      let action = isForgotten ? "device_remove" : "device_logout"
      let leaving = transaction.send(DevicesQueries.leave, user, proof.id, action, record.until)
      // Without switching, no other user becomes active in place of the user who was chosen last.
      let staysInactive =
        context.app.sessionSettings.allowsSwitching
        ? next == .none && users.active(switching: true)?.user == user
        : users.all.first?.user == user
      if staysInactive { _ = transaction.send(DevicesQueries.deactivate, proof.id, users.latest) }
      if isForgotten {
        _ = transaction.send(DevicesQueries.removeUser, proof.id, user)
        _ = transaction.send(DevicesQueries.removeAccount, user, proof.id)
      }
      let ended = try await leaving.rows()
      guard isForgotten || !ended.isEmpty else { return }
      let session = ended.first { $0.device == proof.id }?.session
      self.record(action, of: user, session, proof.id, in: transaction)
    }
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
