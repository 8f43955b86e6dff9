import Runtime
import Sessions
import EventLoop
import JSON
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
    let (user, device, app) = (credential.user, live.device, context.app.id)
    let entered = transaction.send(
      SessionCreationQueries.enterDevice,
      device,
      app,
      known?.secret.hash(master),
      secret.hash(master)
    )
    let room =
      known == nil
      ? nil : transaction.send(SessionCreationQueries.requireRoom, device, user, Devices.limit)
    _ = transaction.send(SessionCreationQueries.countLogin, user)
    if !credential.isOfNewUser {
      _ = transaction.send(
        SessionCreationQueries.makeRoom,
        user,
        device,
        style.keepsSessions,
        context.app.sessionSettings.sessionsPerUser
      )
      _ = transaction.send(
        SessionCreationQueries.recordSurplus,
        user,
        EventID(),
        ServerTime(),
        context.address.text,
        context.agent
      )
    }
    let methods =
      secondFactor.isEmpty ? credential.methods : "\(credential.methods) \(secondFactor)"
    let isByKey = credential.apiKey != nil
    _ = transaction.send(SessionCreationQueries.enterPlace, user, device, methods, isByKey)
    let opened = transaction.send(
      SessionCreationQueries.insert,
      user,
      live.session,
      device,
      app,
      credential.provider,
      live.scope,
      BinaryBytes(live.salt),
      style.party?.lifetime ?? context.app.sessionSettings.sessionLifetime,
      context.address.text,
      context.agent,
      credential.apiKey,
      credential.authenticatedAt,
      style.name,
      methods,
      style.party?.client,
      style.party?.audience,
      style.party?.issuer,
      style.party?.isNotified ?? false
    )
    var detail = JSONObject()
    detail["provider"] = .string(credential.provider)
    detail["client_id"] = (style.party?.client).map { .string($0.text) }
    let place = EventPlace(session: live.session, device: device)
    _ = Event("login", of: user, at: place, detail: .object(detail))
      .send(in: transaction, by: Principal(.user, in: app, scopes: Scopes("")), context)
    return { () async throws(Failure) in
      try await entered.rows(undone: .deviceUnknown)
      try await room?.rows(undone: .deviceFull(limit: Devices.limit))
      try await opened.rows()
    }
  }
}
