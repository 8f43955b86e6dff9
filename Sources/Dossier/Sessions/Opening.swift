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
  private let evidence: String?
  private let context: Context

  /// - Parameters:
  ///   - user: who has proved to be it.
  ///   - provider: by which identity.
  ///   - evidence: what was found to be right: the stored hash of a password, the id of an API key,
  ///     the subject of an identity; nil for a user who is made in the same transaction.
  ///   - context: names the device, if the client has one.
  init(of user: UserID, by provider: String, showing evidence: String? = nil, _ context: Context) {
    self.user = user
    self.provider = provider
    self.evidence = evidence
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

  /// Undoes the transaction when the device is not what it says, or has no room, or when what the
  /// user has shown does not log in any more: since it was looked at, a reset may have ended it.
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
    if let evidence {
      let stands = try await transaction.run(SessionsQueries.stands, user, provider, evidence)
      guard stands.first == true else {
        throw DatabaseError(.undone, "the way in has ended", constraint: "way_in_ended")
      }
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
