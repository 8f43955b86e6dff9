import EventLoop
import Postgres

/// A session that is about to be created.
///
/// Its device gets a new secret, so that a copy of the old secret becomes useless.
@EventLoop struct SessionCreation {
  private let credential: VerifiedCredential
  private let methods: String
  private let style: SessionStyle
  private let session = SessionID()
  private let salt = Credential.salt()
  private let device: DeviceID
  private let secret: Credential
  /// The credential of the device that the client has sent; nil for a new device.
  private let known: DeviceProof?
  private let context: RequestContext

  init(
    _ credential: VerifiedCredential,
    secondFactor methods: String,
    on known: DeviceProof?,
    _ style: SessionStyle,
    _ context: RequestContext
  ) {
    self.credential = credential
    self.methods = methods
    self.known = known
    self.style = style
    self.context = context
    device = known?.id ?? DeviceID()
    if let known, known.isBare {
      secret = known.secret
    } else {
      secret = Credential(.device, of: device)
    }
  }

  /// Sends all statements of the session without waiting.
  ///
  /// - Returns: a function that waits, and throws `.deviceUnknown` or `.deviceFull`.
  func send(in transaction: Transaction) -> Completion {
    let master = context.keys.master
    let entered = transaction.send(
      SessionsQueries.enter,
      credential.user,
      device,
      context.app.id,
      known?.secret.hash(master),
      secret.hash(master)
    )
    let opened = transaction.send(
      SessionsQueries.open,
      credential.user,
      session,
      device,
      context.app.id,
      credential.provider,
      style.scopes.text,
      BinaryBytes(salt),
      context.app.settings.sessionLifetime,
      context.address.text,
      context.agent,
      Devices.limit,
      context.app.settings.sessionsPerUser,
      credential.apiKey,
      credential.authenticatedAt,
      style.name,
      style.client,
      EventID(),
      methods.isEmpty ? credential.methods : "\(credential.methods) \(methods)",
      style.keepsSessions
    )
    return { () async throws(Failure) in
      try await entered.rows(undone: .deviceUnknown)
      try await opened.rows(undone: .deviceFull(limit: Devices.limit))
    }
  }

  /// Returns the tokens of the session, once the transaction is committed.
  func grant() async throws(Failure) -> Sessions.Grant {
    try await Sessions.grant(
      LiveSession(session: session, device: device, scope: style.scopes.text, salt: salt),
      of: credential.user,
      as: style,
      context,
      deviceSecret: secret.text(context.keys.master)
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
