import FoundationEssentials

/// What a client exchanges for the next access token, once.
///
/// It names its session and its place in the chain, so that an old one can be told from one that
/// was never issued; a mark keeps made-up ones away from the database.
struct RefreshToken {
  let user: UserID
  let session: SessionID
  let generation: Int
  /// All that the mark covers, and what the stored hash is of.
  let payload: [UInt8]

  private static let prefix = "drt_"
  private static let payloadLength = 12 + 12 + 4 + 32
  private static let markLength = 16

  /// The first token of a session.
  init(user: UserID, session: SessionID) {
    self.init(
      user: user,
      session: session,
      generation: 1,
      secret: (0..<32).map { _ in UInt8.random(in: .min ... .max) }
    )
  }

  private init(user: UserID, session: SessionID, generation: Int, secret: [UInt8]) {
    self.user = user
    self.session = session
    self.generation = generation
    let number = UInt32(truncatingIfNeeded: generation)
    let numberBytes = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    payload = user.bytes + session.bytes + numberBytes + secret
  }

  /// Reads what a client sent; nil when it was never issued with this master key.
  init?(_ text: String, _ key: MasterKey) {
    guard text.hasPrefix(Self.prefix),
      let bytes = Data(base64URL: text.dropFirst(Self.prefix.count)).map({ [UInt8]($0) }),
      bytes.count == Self.payloadLength + Self.markLength
    else { return nil }
    payload = Array(bytes.prefix(Self.payloadLength))
    guard isEqualInConstantTime(key.mark(of: payload), Array(bytes.suffix(Self.markLength))) else {
      return nil
    }
    user = UserID(bytes: payload[0..<12])
    session = SessionID(bytes: payload[12..<24])
    generation = payload[24..<28].reduce(0) { $0 << 8 | Int($1) }
  }

  func text(_ key: MasterKey) -> String {
    Self.prefix + Data(payload + key.mark(of: payload)).base64URL
  }

  func hash(_ key: MasterKey) -> [UInt8] { key.hash(of: payload) }

  /// The next of the chain; always the same one.
  func successor(_ key: MasterKey) -> RefreshToken {
    RefreshToken(
      user: user,
      session: session,
      generation: generation + 1,
      secret: key.successorSecret(of: payload)
    )
  }
}
