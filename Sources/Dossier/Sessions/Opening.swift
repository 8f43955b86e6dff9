import EventLoop
import JSON
import Postgres

/// A session about to be opened: what is written in the transaction that logs a user in.
struct Opening {
  let user: UserID
  let provider: String
  private let session = SessionID()
  private let salt = Credential.salt()
  private let device: DeviceID
  private let secret: Credential
  private let isNewDevice: Bool
  private let context: Context

  /// - Parameters:
  ///   - user: who has proved to be it.
  ///   - provider: by which identity.
  ///   - context: names the device, if the client has one.
  init(of user: UserID, by provider: String, _ context: Context) {
    self.user = user
    self.provider = provider
    self.context = context
    isNewDevice = context.device == nil
    if let known = context.device {
      device = known.id
      secret = known.secret
    } else {
      device = DeviceID()
      secret = Credential(.device, of: device)
    }
  }

  /// Undoes the transaction when the device is not what it says, or has no room.
  @EventLoop func write(in transaction: Transaction) async throws(DatabaseError) {
    let entered = try await transaction.run(
      SessionsQueries.enter,
      user,
      device,
      context.app.id,
      secret.hash(context.store.keys.master)
    )
    guard !entered.isEmpty else {
      throw DatabaseError(.undone, "the device has another secret", constraint: "device_unknown")
    }
    let opened = try await transaction.run(
      SessionsQueries.open,
      user,
      session,
      device,
      context.app.id,
      provider,
      Scopes.user.text,
      BinaryBytes(salt),
      Int(context.app.sessionLifetime.components.seconds),
      context.origin.address,
      context.origin.agent,
      Devices.limit,
      context.app.settings.number(.sessionsPerUser)
    )
    guard !opened.isEmpty else {
      throw DatabaseError(.undone, "the device is full", constraint: "device_full")
    }
    try await AuditEvent(
      "login",
      of: user,
      session: session,
      device: device,
      detail: ["provider": .string(provider)]
    ).record(in: transaction, context)
  }

  /// The tokens, when the transaction is through.
  @EventLoop func grant() async throws(Failure) -> Sessions.Grant {
    try await Sessions.grant(
      LiveSession(session: session, device: device, scope: Scopes.user.text, salt: salt),
      of: user,
      context,
      deviceSecret: isNewDevice ? secret.text(context.store.keys.master) : nil
    )
  }
}

extension LiveSession {
  fileprivate init(session: SessionID, device: DeviceID, scope: String, salt: [UInt8]) {
    self.session = session
    self.device = device
    self.scope = scope
    self.salt = salt
    generation = 1
  }
}
