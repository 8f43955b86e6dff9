import EventLoop
import JSON
import Postgres

/// A session about to be opened: what is written in the transaction that logs a user in.
///
/// Its device gets a new secret by that: whoever copied the one before does not come along.
@EventLoop final class Opening {
  private let proof: Proof
  private let style: SessionStyle
  private let session = SessionID()
  private let salt = Credential.salt()
  private let device: DeviceID
  private let secret: Credential
  /// What the client has shown to be that device; nil for a new one.
  private let shown: DeviceProof?
  private let context: Context

  init(_ proof: Proof, on shown: DeviceProof?, _ style: SessionStyle, _ context: Context) {
    self.proof = proof
    self.shown = shown
    self.style = style
    self.context = context
    device = shown?.id ?? DeviceID()
    if let device = shown, device.isBare {
      secret = device.secret
    } else {
      secret = Credential(.device, of: device)
    }
  }

  /// Sends all that is written, without waiting for any of it.
  ///
  /// - Returns: waits, and undoes the transaction when the device is not what it says, or has no room,
  ///   or when what the user has shown does not log in any more: since it was looked at, a reset may
  ///   have ended it.
  func send(in transaction: Transaction) -> Proof.Completion {
    let master = context.store.keys.master
    let entered = transaction.send(
      SessionsQueries.enter,
      proof.user,
      device,
      context.app.id,
      shown?.secret.hash(master),
      secret.hash(master)
    )
    let stands = proof.evidence.map { evidence in
      transaction.send(SessionsQueries.stands, proof.user, proof.provider, evidence)
    }
    let opened = transaction.send(
      SessionsQueries.open,
      proof.user,
      session,
      device,
      context.app.id,
      proof.provider,
      style.scopes.text,
      BinaryBytes(salt),
      context.app.settings.sessionLifetime,
      context.origin.address,
      context.origin.agent,
      Devices.limit,
      context.app.settings.sessionsPerUser,
      Sessions.key(of: proof.provider, proof.evidence),
      proof.authenticatedAt,
      style.name,
      style.client,
      EventID()
    )
    return { () async throws(DatabaseError) in
      if try await entered.rows().isEmpty {
        throw DatabaseError(.undone, "the device has another secret", constraint: "device_unknown")
      }
      if let stands, try await stands.rows().first != true { throw Self.wayInEnded }
      if try await opened.rows().isEmpty {
        throw DatabaseError(.undone, "the device is full", constraint: "device_full")
      }
    }
  }

  private static let wayInEnded = DatabaseError(
    .undone,
    "the way in has ended",
    constraint: "way_in_ended"
  )

  /// Undoes the transaction when what a user has shown does not log it in any more.
  static func require(
    _ provider: String,
    _ evidence: String,
    of user: UserID,
    in transaction: Transaction
  ) async throws(DatabaseError) {
    let stands = try await transaction.run(SessionsQueries.stands, user, provider, evidence)
    guard stands.first == true else { throw wayInEnded }
  }

  /// The tokens, when the transaction is through.
  func grant() async throws(Failure) -> Sessions.Grant {
    try await Sessions.grant(
      LiveSession(session: session, device: device, scope: style.scopes.text, salt: salt),
      of: proof.user,
      as: style,
      context,
      deviceSecret: secret.text(context.store.keys.master)
    )
  }
}

extension Sessions {
  /// The API key by which a session is opened, if it is one.
  static func key(of provider: String, _ evidence: String?) -> APIKeyID? {
    provider == "api-key" ? evidence.map(APIKeyID.init(trusted:)) : nil
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
