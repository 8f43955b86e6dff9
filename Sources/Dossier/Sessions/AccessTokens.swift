package import EventLoop
import Glibc
import JSON
import WebTokens

/// Access tokens of all wires, and ID tokens: JWTs that the keys of an app sign.
@EventLoop package final class AccessTokens {
  private let keys: Keyring
  private let issuer: String
  private let clock: @EventLoop () -> Int
  private var verified = TokenCache()

  /// - Parameters:
  ///   - keys: what signs and verifies.
  ///   - issuer: the `iss` of every token, the deployment's URL.
  ///   - clock: seconds since 1970.
  package init(
    keys: Keyring,
    issuer: String,
    clock: @escaping @EventLoop () -> Int = { time(nil) }
  ) {
    self.keys = keys
    self.issuer = issuer
    self.clock = clock
  }

  /// The longest token that is read; ours have about 500 bytes, and what wires add to them.
  nonisolated static let tokenLimit = 8_192

  /// A use of tokens, which determines the key and the claims.
  enum Use {
    /// An access token for this server.
    case native
    /// An access token of OpenID Connect.
    case openID
    /// An ID token.
    case identity
  }

  /// Makes a token of the principal's session.
  ///
  /// - Parameters:
  ///   - use: the use of the token.
  ///   - principal: the principal.
  ///   - issuer: the `iss`; nil for the deployment's URL.
  ///   - audience: the `aud`; nil for the deployment's URL.
  ///   - lifetime: the lifetime of the token.
  ///   - claims: other claims. They replace none that this server reads.
  /// - Returns: a JWT.
  /// - Throws: `.overloaded`, `.unavailable`.
  func token(
    _ use: Use,
    of principal: Principal,
    by issuer: String? = nil,
    for audience: JSON? = nil,
    lifetime: Duration,
    _ claims: [(String, JSON)] = []
  ) async throws(Failure) -> String {
    let signer = try await keys.signer(for: principal.app, use == .native ? .native : .openID)
    let now = clock()
    var token = JSONObject()
    for (name, value) in claims { token[name] = value }
    token["sid"] = .string(principal.session?.text ?? "")
    if use != .identity {
      token["did"] = .string(principal.device?.text ?? "")
      token["app"] = .string(principal.app.text)
      token["scope"] = .string(principal.scopes.text)
    }
    token["iss"] = .string(issuer ?? self.issuer)
    token["aud"] = audience ?? .string(self.issuer)
    token["sub"] = .string(principal.user?.text ?? "")
    token["iat"] = .number(JSONNumber(now))
    token["exp"] = .number(JSONNumber(now + lifetime.wholeSeconds))
    do {
      return try signer.token(token, isTyped: use == .openID)
    } catch {
      throw .unforeseen("a token cannot be signed")
    }
  }

  /// Reads a token as `principal` does, if it was verified before.
  ///
  /// - Parameters:
  ///   - token: as it came, whatever bytes it has.
  ///   - app: of the route.
  ///   - audience: as for `principal`.
  /// - Returns: nil when `principal` has to be asked.
  /// - Throws: `.unauthenticated`.
  package func known(
    _ token: Span<UInt8>,
    app: AppID,
    audience: String? = nil
  ) throws(Failure) -> Principal? {
    guard let known = verified[token], keys.isFresh(known.keys),
      known.removals == known.keys.removals
    else { return nil }
    guard known.expires > clock() else { throw .unauthenticated(.expired) }
    guard known.principal.app == app, isMeant(known.audience, for: audience) else {
      throw .unauthenticated(.malformed)
    }
    return known.principal
  }

  /// Reads a token that a client sent, for a route of `app`.
  ///
  /// The signature is checked once, and the outcome remembered until the token expires or a key of
  /// the app is gone.
  /// - Parameters:
  ///   - token: as it came.
  ///   - app: of the route.
  ///   - audience: for whom a token of OpenID Connect must be: who is sent one that is for another
  ///     must not be able to use it here. Nil for the deployment's URL.
  /// - Returns: whose it is.
  /// - Throws: `.unauthenticated`, `.unavailable`.
  package func principal(
    of token: String,
    app: AppID,
    audience: String? = nil
  ) async throws(Failure) -> Principal {
    if let known = try known(token.utf8.span, app: app, audience: audience) { return known }
    let now = clock()
    let claims = try await verify(token, app)
    // A wrong type is as good as none: what is signed is ours.
    guard let expires = claims["exp"]?.number?.int,
      let user = claims["sub"]?.string.flatMap({ UserID($0) }),
      let session = claims["sid"]?.string.flatMap({ SessionID($0) }),
      let device = claims["did"]?.string.flatMap({ DeviceID($0) }),
      let scope = claims["scope"]?.string
    else { throw .unauthenticated(.malformed) }
    guard expires > now else { throw .unauthenticated(.expired) }
    let principal = Principal(user, session, device, in: app, scopes: Scopes(scope))
    let meant = claims["aud"]?.array?.compactMap(\.string)
    verified.insert(
      TokenCache.Entry(
        token: Array(token.utf8),
        principal: principal,
        audience: meant,
        expires: expires,
        keys: keys.keys(of: app)
      )
    )
    guard isMeant(meant, for: audience) else { throw .unauthenticated(.malformed) }
    return principal
  }

  /// The claims of a token that a key of the app signed.
  private func verify(_ token: String, _ app: AppID) async throws(Failure) -> JSONObject {
    // What is far longer than ours is not worth parsing.
    guard token.utf8.count <= Self.tokenLimit, let read = SignedToken(token),
      let keyID = read.keyID, read.claims["app"]?.string == app.text,
      let key = try await keys.verifier(keyID: keyID, app: app),
      // What clients of OpenID Connect call the issuer is their wire's affair; the key is the app's.
      key.purpose == .openID
        ? read.head["typ"]?.string == SigningKey.accessType && read.claims["aud"]?.array != nil
        : read.claims["iss"]?.string == issuer
          && read.claims["aud"]?.string?.hasSameBytes(as: issuer) == true,
      key.hasSigned(read)
    else { throw .unauthenticated(.malformed) }
    return read.claims
  }

  /// Whether a token is for an audience; nil stands for a native token, which is for this server only.
  private func isMeant(_ audiences: [String]?, for audience: String?) -> Bool {
    guard let audiences else { return true }
    let wanted = audience ?? issuer
    return audiences.contains { $0.hasSameBytes(as: wanted) }
  }
}
