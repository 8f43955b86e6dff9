package import EventLoop
import JSON
import Postgres

/// What a client shows to be the device that it was.
package struct DeviceProof: Sendable {
  package let id: DeviceID
  let secret: Credential
  /// Whether a browser sent it, which cannot help sending what it has.
  let isCookie: Bool
  /// Whether the client has shown an id and nothing else; the secret is the server's alone.
  let isBare: Bool

  /// A device by its id alone.
  ///
  /// Its secret is always the same, and never given out: devices that prove what they are have others.
  init(bare id: DeviceID) {
    self.id = id
    secret = Credential(.device, of: id, salt: [UInt8](repeating: 0, count: 16))
    isCookie = false
    isBare = true
  }

  /// Reads what a client sent; nil when it was never given out with this master key.
  @EventLoop package init?(_ text: String, isCookie: Bool = false, _ store: Store) {
    guard let secret = Credential(.device, text, store.keys.master) else { return nil }
    self.secret = secret
    self.isCookie = isCookie
    isBare = false
    id = secret.owner()
  }
}

/// What a client says of its device whose protocol has ids of devices and no proof of them.
package struct BareDevice: Sendable {
  private let named: DeviceID?

  /// - Parameter named: the id that a login gave to the client before; nil when it has none.
  package init(named: DeviceID?) { self.named = named }

  /// The device of that id if it is one without proof that has room for the user, else a new one:
  /// ids that clients make up become no devices.
  @EventLoop func admitted(_ user: UserID, _ context: Context) async throws(Failure) -> DeviceProof
  {
    guard let named else { return DeviceProof(bare: DeviceID()) }
    let proof = DeviceProof(bare: named)
    let rows = try await context.store.read(
      DevicesQueries.admit,
      named,
      context.app.id,
      proof.secret.hash(context.store.keys.master),
      user
    )
    guard let row = rows.first, row.isRight, row.others < Devices.limit else {
      return DeviceProof(bare: DeviceID())
    }
    return proof
  }
}

/// Devices, and the users known on each.
///
/// A user of a device is active, inactive (logged in all the same) or logged out. Nothing stores
/// that: who has a live session on the device is logged in, and the one of them that was
/// chosen last is active.
package enum Devices {
  /// How many users one device may know.
  package static let limit = 20

  /// The users of the device, the active one first, then by when they were chosen.
  ///
  /// - Throws: `.deviceUnknown`, `.unavailable`.
  @EventLoop package static func list(
    _ context: Context
  ) async throws(Failure) -> (device: DeviceID, users: [DeviceUser]) {
    let proof = try known(context)
    let users = try await context.store.list(
      DevicesQueries.list,
      proof.id,
      context.app.id,
      proof.secret.hash(context.store.keys.master),
      context.app.settings.allowsSwitching
    )
    guard let users else { throw .deviceUnknown }
    return (proof.id, users)
  }

  /// Makes a user that is logged in on the device the active one.
  ///
  /// - Throws: `.switchingForbidden`, `.deviceUnknown`, `.notFound` for a user the device does not
  ///   know, `.notLoggedIn`, `.unavailable`.
  @EventLoop package static func activate(
    _ user: UserID,
    as style: SessionStyle = .native,
    _ context: Context
  ) async throws(Failure) -> Sessions.Grant {
    let proof = try known(context)
    guard context.app.settings.allowsSwitching else { throw .switchingForbidden }
    let rows = try await context.store.write(
      DevicesQueries.activate,
      proof.id,
      context.app.id,
      proof.secret.hash(context.store.keys.master),
      user,
      context.origin.address,
      context.origin.agent,
      style.name,
      style.client
    )
    guard let row = rows.first else { throw .deviceUnknown }
    guard row.isKnown else { throw .notFound }
    guard let live = row.live else { throw .notLoggedIn }
    return try await Sessions.grant(live, of: user, as: style, context)
  }

  /// New tokens for a browser that holds its device in a cookie.
  ///
  /// - Parameters:
  ///   - user: whose; nil for the active user's. Naming the user keeps a page with whom it began,
  ///     whoever another page makes active.
  ///   - style: of the wire; a session of another is none here.
  ///   - context: of the request.
  /// - Returns: the tokens.
  /// - Throws: `.deviceUnknown`, `.unauthenticated` when the user is not logged in or nobody is
  ///   active, `.unavailable`.
  @EventLoop package static func refresh(
    of user: UserID?,
    as style: SessionStyle = .native,
    _ context: Context
  ) async throws(Failure) -> Sessions.Grant {
    let proof = try known(context)
    let rows = try await context.store.write(
      DevicesQueries.refresh,
      proof.id,
      context.app.id,
      proof.secret.hash(context.store.keys.master),
      context.app.settings.sessionLifetime,
      context.app.settings.allowsSwitching,
      user?.text,
      context.app.settings.longestSession,
      style.name,
      style.client
    )
    guard let row = rows.first else { throw .deviceUnknown }
    guard let user = row.user, let live = row.live else { throw .unauthenticated(.sessionEnded) }
    return try await Sessions.grant(live, of: user, as: style, context)
  }

  /// Logs a user out of the device; nothing changes when it was logged out already.
  ///
  /// - Throws: `.deviceUnknown`, `.notFound`, `.unavailable`.
  @EventLoop package static func logout(_ user: UserID, _ context: Context) async throws(Failure) {
    try await leave(user, isForgotten: false, context)
  }

  /// Makes the device forget a user, whose session there ends; the user itself stays.
  ///
  /// - Throws: `.deviceUnknown`, `.notFound`, `.unavailable`.
  @EventLoop package static func remove(_ user: UserID, _ context: Context) async throws(Failure) {
    try await leave(user, isForgotten: true, context)
  }

  @EventLoop private static func leave(
    _ user: UserID,
    isForgotten: Bool,
    _ context: Context
  ) async throws(Failure) {
    let proof = try known(context)
    let rows = try await context.store.write(
      DevicesQueries.leave,
      proof.id,
      context.app.id,
      proof.secret.hash(context.store.keys.master),
      user,
      isForgotten,
      context.origin.address,
      context.origin.agent
    )
    guard let isKnown = rows.first else { throw .deviceUnknown }
    guard isKnown else { throw .notFound }
  }

  /// Checks before a login that the device is what it says and has room for the user.
  ///
  /// `Opening` looks again when nobody else can come between; here it is told before anything is made,
  /// counted or mailed.
  /// - Returns: the device to log in on; nil for a new one, also where a cookie is of no more use.
  /// - Throws: `.deviceUnknown`, `.deviceFull`, `.unavailable`.
  @EventLoop static func admit(
    _ user: UserID,
    _ context: Context
  ) async throws(Failure) -> DeviceProof? {
    guard let proof = context.device else {
      return try await context.bareDevice?.admitted(user, context)
    }
    let rows = try await context.store.read(
      DevicesQueries.admit,
      proof.id,
      context.app.id,
      proof.secret.hash(context.store.keys.master),
      user
    )
    // No row: issued by us, but lost since, as by restoring a backup. The login writes it anew.
    guard let row = rows.first else { return proof }
    guard row.isRight else {
      guard proof.isCookie else { throw .deviceUnknown }
      return nil
    }
    // Another login has just replaced the secret. It may be that of somebody who copied this one, who
    // then holds the device: a user who came along would be that one's to switch to.
    guard row.isCurrent else { return nil }
    guard row.others < limit else { throw .deviceFull(limit: limit) }
    return proof
  }

  /// Whether each of these users has logged in on the device before; false when there are none, which
  /// takes as long.
  @EventLoop static func know(_ users: [UserID], _ context: Context) async throws(Failure) -> Bool {
    guard let proof = context.device else { return false }
    let rows = try await context.store.read(
      DevicesQueries.know,
      proof.id,
      context.app.id,
      proof.secret.hash(context.store.keys.master),
      users.map(\.text).joined(separator: " ")
    )
    return !users.isEmpty && rows.first ?? false
  }

  @EventLoop private static func known(_ context: Context) throws(Failure) -> DeviceProof {
    guard let proof = context.device else { throw .deviceUnknown }
    return proof
  }
}
