import Runtime
import Sessions
import EventLoop
import Postgres

/// A session that is about to be created for a verified credential.
///
/// Its device gets a new secret, so that a copy of the old secret becomes useless.
@EventLoop struct SessionCreation {
  let credential: VerifiedCredential
  let live: LiveSession
  /// The methods of a second factor that the user passes; empty without one.
  let secondFactor: String
  private let style: SessionStyle
  private let secret: Credential
  /// The credential of the device that the client has sent; nil for a new device.
  private let known: DeviceCredential?
  private let context: RequestContext

  init(
    _ credential: VerifiedCredential,
    _ secondFactor: String,
    on known: DeviceCredential?,
    _ style: SessionStyle,
    _ context: RequestContext
  ) {
    self.credential = credential
    self.secondFactor = secondFactor
    self.known = known
    self.style = style
    self.context = context
    let device = known?.id ?? DeviceID()
    secret = known.flatMap { $0.isBare ? $0.secret : nil } ?? Credential(.device, of: device)
    live = LiveSession(on: device, scope: style.scopes.text, deviceSecret: secret)
  }

  /// Sends all statements of the session without waiting.
  ///
  /// - Returns: a function that waits, and throws `.deviceUnknown` or `.deviceFull`.
  func send(in transaction: Transaction) -> Completion {
    let master = context.keys.master
    let entered = transaction.send(
      SessionsQueries.enter,
      credential.user,
      live.device,
      context.app.id,
      known?.secret.hash(master),
      secret.hash(master)
    )
    let opened = transaction.send(
      SessionsQueries.open,
      credential.user,
      live.session,
      live.device,
      context.app.id,
      credential.provider,
      live.scope,
      BinaryBytes(live.salt),
      style.party?.lifetime ?? context.app.sessionSettings.sessionLifetime,
      context.address.text,
      context.agent,
      Devices.limit,
      context.app.sessionSettings.sessionsPerUser,
      credential.apiKey,
      credential.authenticatedAt,
      style.name,
      EventID(),
      secondFactor.isEmpty ? credential.methods : "\(credential.methods) \(secondFactor)",
      style.keepsSessions,
      style.party?.client,
      style.party?.audience,
      style.party?.issuer,
      style.party?.isNotified ?? false
    )
    return { () async throws(Failure) in
      try await entered.rows(undone: .deviceUnknown)
      try await opened.rows(undone: .deviceFull(limit: Devices.limit))
    }
  }
}
