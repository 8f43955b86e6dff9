package import Runtime
import EventLoop
import JSON
import Postgres

/// Devices, and the users known on each.
///
/// A user of a device is active, inactive (logged in all the same) or logged out. These states are
/// derived: a user with a live session on the device is logged in. The logged-in user who was
/// chosen last is active.
package enum Devices {
  /// The greatest number of users known on one device.
  package static let limit = 20

  /// Returns the users of the device, the active user first, then the most recently chosen.
  ///
  /// - Throws: `.deviceUnknown`, `.databaseUnavailable`.
  @EventLoop package static func list(
    _ context: RequestContext
  ) async throws(Failure) -> (device: DeviceID, users: [DeviceUser]) {
    let proof = try known(context)
    let users = try await context.list(
      DevicesQueries.list,
      proof.id,
      context.app.id,
      proof.secret.hash(context.keys.master),
      context.app.sessionSettings.allowsSwitching
    )
    guard let users else { throw .deviceUnknown }
    return (proof.id, users)
  }

  /// Makes a user who is logged in on the device its active user.
  ///
  /// - Throws: `.switchingForbidden`, `.deviceUnknown`, `.notFound` if the device does not know the
  ///   user, `.notLoggedIn`, `.databaseUnavailable`.
  @EventLoop package static func activate(
    _ user: UserID,
    as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    let proof = try known(context)
    guard context.app.sessionSettings.allowsSwitching else { throw .switchingForbidden }
    let live = try await context.transaction { transaction async throws(Failure) in
      let rows = try await transaction.run(
        DevicesQueries.activate,
        proof.id,
        context.app.id,
        proof.secret.hash(context.keys.master),
        user,
        style.name,
        context.app.sessionSettings.mfa == .required
      )
      guard let row = rows.first else { throw Failure.deviceUnknown }
      guard row.isKnown else { throw .notFound }
      guard let live = row.live else { throw .notLoggedIn }
      if !row.isActive {
        record("device_switch", of: user, live.session, proof.id, in: transaction, context)
      }
      return live
    }
    return try await Sessions.grant(live, of: user, as: style, context)
  }

  /// Sends the event of a user on a device.
  @EventLoop private static func record(
    _ action: String,
    of user: UserID,
    _ session: SessionID?,
    _ device: DeviceID,
    in transaction: Transaction,
    _ context: RequestContext
  ) {
    let principal = Principal(.user, in: context.app.id, scopes: Scopes(""))
    let place = EventPlace(session: session, device: device)
    _ = Event(action, of: user, at: place).send(in: transaction, by: principal, context)
  }

  /// Returns new tokens for a browser that has its device credential in a cookie.
  ///
  /// - Parameters:
  ///   - user: the user of the tokens; nil for the active user. A page that names its user keeps
  ///     that user when another page switches.
  ///   - style: the protocol of the wire; sessions of other protocols do not count.
  ///   - context: the context of the request.
  /// - Returns: the tokens.
  /// - Throws: `.deviceUnknown`, `.sessionEnded` if the user is not logged in or no user is
  ///   active, `.databaseUnavailable`.
  @EventLoop package static func refresh(
    of user: UserID?,
    as style: SessionStyle = .native,
    _ context: RequestContext
  ) async throws(Failure) -> Sessions.TokenSet {
    let proof = try known(context)
    let rows = try await context.write(
      DevicesQueries.refresh,
      proof.id,
      context.app.id,
      proof.secret.hash(context.keys.master),
      context.app.sessionSettings.sessionLifetime,
      context.app.sessionSettings.allowsSwitching,
      user?.text,
      context.app.sessionSettings.longestSession,
      style.name,
      context.app.sessionSettings.mfa == .required
    )
    guard let row = rows.first else { throw .deviceUnknown }
    guard let user = row.user, let live = row.live else { throw .sessionEnded }
    return try await Sessions.grant(live, of: user, as: style, context)
  }

  /// Logs a user out of the device; changes nothing if the user is already logged out.
  ///
  /// - Throws: `.deviceUnknown`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func logout(
    _ user: UserID,
    next: NextActive,
    _ context: RequestContext
  ) async throws(Failure) {
    try await leave(user, isForgotten: false, next, context)
  }

  /// Makes the device forget a user and ends the user's session there; the user itself stays.
  ///
  /// - Throws: `.deviceUnknown`, `.notFound`, `.databaseUnavailable`.
  @EventLoop package static func remove(
    _ user: UserID,
    next: NextActive,
    _ context: RequestContext
  ) async throws(Failure) {
    try await leave(user, isForgotten: true, next, context)
  }

  @EventLoop private static func leave(
    _ user: UserID,
    isForgotten: Bool,
    _ next: NextActive,
    _ context: RequestContext
  ) async throws(Failure) {
    let proof = try known(context)
    try await context.transaction { transaction async throws(Failure) in
      // A client that exchanges a code now runs before this, or finds the session ended.
      _ = transaction.send(SessionsQueries.lockUser, user)
      let rows = try await transaction.run(
        DevicesQueries.leave,
        proof.id,
        context.app.id,
        proof.secret.hash(context.keys.master),
        user,
        isForgotten,
        next == .none,
        context.app.sessionSettings.allowsSwitching
      )
      guard let left = rows.first else { throw Failure.deviceUnknown }
      guard left.isKnown else { throw .notFound }
      guard isForgotten || left.hasEnded else { return }
      let action = isForgotten ? "device_remove" : "device_logout"
      record(action, of: user, left.session, proof.id, in: transaction, context)
    }
  }

  /// Leaves the device of a session without an active user, before its user logs out.
  @EventLoop package static func deactivate(
    _ user: UserID,
    in transaction: Transaction,
    _ context: RequestContext
  ) async throws(Failure) {
    guard let device = context.principal.device else { return }
    _ = try await transaction.run(DevicesQueries.deactivate, device, user)
  }

  /// Logs all users of the device out.
  ///
  /// - Throws: `.deviceUnknown`, `.databaseUnavailable`.
  @EventLoop package static func logoutAll(_ context: RequestContext) async throws(Failure) {
    let proof = try known(context)
    let hash = proof.secret.hash(context.keys.master)
    try await context.transaction { transaction async throws(Failure) in
      let device = try await transaction.run(
        DevicesQueries.record,
        proof.id,
        context.app.id,
        hash
      )
      for user in device.first?.lockOrder ?? [] {
        _ = transaction.send(SessionsQueries.lockUser, user)
      }
      let rows = try await transaction.run(
        DevicesQueries.leaveAll,
        proof.id,
        context.app.id,
        hash
      )
      guard !rows.isEmpty else { throw Failure.deviceUnknown }
      for row in rows {
        guard let user = row.user, let device = row.device else { continue }
        record("device_logout", of: user, row.session, device, in: transaction, context)
      }
    }
  }

  /// Checks before a login that the device credential is valid and the device has room for the
  /// user.
  ///
  /// `SignIn.complete` checks it again with the device locked. This check runs before the login
  /// creates, counts or mails anything.
  /// - Returns: the device to log in on; nil for a new one, also if the cookie is no longer valid.
  /// - Throws: `.deviceUnknown`, `.deviceFull`, `.databaseUnavailable`.
  @EventLoop package static func admit(
    _ user: UserID,
    _ context: RequestContext
  ) async throws(Failure) -> DeviceCredential? {
    guard let proof = context.device else {
      guard let bare = context.bareDevice else { return nil }
      // Ids that clients make up create no devices.
      guard let named = bare.named.map(DeviceCredential.init(bare:)),
        let record = try await record(of: named, context), record.isRight,
        record.hasRoom(for: user)
      else { return DeviceCredential(bare: DeviceID()) }
      return named
    }
    // No record: this server issued the secret, and a restored backup lost it. The login writes it.
    guard let record = try await record(of: proof, context) else { return proof }
    guard record.isRight else {
      guard proof.isCookie else { throw .deviceUnknown }
      return nil
    }
    // Another login has just replaced the secret, perhaps by an attacker who copied this one. The
    // attacker then holds the device, and could switch to a user who logged in there.
    guard record.isCurrent else { return nil }
    guard record.hasRoom(for: user) else { throw .deviceFull(limit: limit) }
    return proof
  }

  /// Returns whether a user has logged in on the device before, with more than an API key.
  ///
  /// It takes the same time without a user.
  @EventLoop package static func knows(
    _ user: UserID?,
    by assurance: Assurance = .credential,
    _ context: RequestContext
  ) async throws(Failure) -> Bool {
    guard let proof = context.device else { return false }
    return try await record(of: proof, context)?.knows(user, assurance) ?? false
  }

  /// Adds the read of the device to a batch, and returns its index; nil without a device.
  @EventLoop package static func addRead(to batch: inout ReadBatch, _ context: RequestContext)
    -> Int?
  {
    guard let proof = context.device else { return nil }
    return batch.add(
      DevicesQueries.record,
      proof.id,
      context.app.id,
      proof.secret.hash(context.keys.master)
    )
  }

  /// Returns the record of the client's device, which is read once per request.
  @EventLoop private static func record(
    of proof: DeviceCredential,
    _ context: RequestContext
  ) async throws(Failure) -> DeviceRecord? {
    if let known = context.deviceRecord { return known }
    let record = try await context.first(
      DevicesQueries.record,
      proof.id,
      context.app.id,
      proof.secret.hash(context.keys.master)
    )
    context.deviceRecord = .some(record)
    return record
  }

  @EventLoop private static func known(_ context: RequestContext) throws(Failure)
    -> DeviceCredential
  {
    guard let proof = context.device else { throw .deviceUnknown }
    return proof
  }
}
