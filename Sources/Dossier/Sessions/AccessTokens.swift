package import EventLoop
import Glibc
package import JSON
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

  /// Makes the token of a session, with members that the wire adds, for this server: its `aud` is the
  /// deployment's URL.
  ///
  /// - Throws: `.overloaded`, `.unavailable`.
  package func issue(
    for principal: Principal,
    lifetime: Duration,
    _ claimsOfWire: [(String, JSON)] = []
  ) async throws(Failure) -> String {
    try await accessToken(
      for: .native,
      by: issuer,
      of: principal,
      lifetime: lifetime,
      claimsOfWire + [("aud", .string(issuer))]
    )
  }

  /// Makes the access token of a session.
  ///
  /// - Parameters:
  ///   - purpose: of the key that signs it.
  ///   - issuer: its `iss`.
  ///   - principal: whose session.
  ///   - lifetime: for how long it is good.
  ///   - claimsOfWire: members beside those that this server reads in it.
  /// - Returns: a JWT.
  /// - Throws: `.overloaded`, `.unavailable`.
  func accessToken(
    for purpose: KeyPurpose,
    by issuer: String,
    of principal: Principal,
    lifetime: Duration,
    _ claimsOfWire: [(String, JSON)]
  ) async throws(Failure) -> String {
    var claims = JSONObject()
    // First, so that they take the place of none of ours.
    for (name, value) in claimsOfWire { claims[name] = value }
    claims["sid"] = .string(principal.session?.text ?? "")
    claims["did"] = .string(principal.device?.text ?? "")
    claims["app"] = .string(principal.app.text)
    claims["scope"] = .string(principal.scopes.text)
    return try await signed(
      claims,
      for: purpose,
      isTyped: purpose == .openID,
      by: issuer,
      of: principal,
      lifetime: lifetime
    )
  }

  /// Adds whose a token is and how long it is good, and signs it; its head says that it is an access
  /// token where `isTyped`.
  func signed(
    _ claims: JSONObject,
    for purpose: KeyPurpose,
    isTyped: Bool = false,
    by issuer: String,
    of principal: Principal,
    lifetime: Duration
  ) async throws(Failure) -> String {
    let signer = try await keys.signer(for: principal.app, purpose)
    let now = clock()
    var claims = claims
    claims["iss"] = .string(issuer)
    claims["sub"] = .string(principal.user?.text ?? "")
    claims["iat"] = .number(JSONNumber(now))
    claims["exp"] = .number(JSONNumber(now + lifetime.wholeSeconds))
    do {
      return try signer.token(claims, isTyped: isTyped)
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
        : read.claims["iss"]?.string == issuer && isNative(read.claims["aud"]),
      key.hasSigned(read)
    else { throw .unauthenticated(.malformed) }
    return read.claims
  }

  /// Whether the `aud` of a native token is this server; versions before gave out tokens without.
  private func isNative(_ audience: JSON?) -> Bool {
    audience == nil || audience?.string?.hasSameBytes(as: issuer) == true
  }

  /// Whether a token is for an audience; nil stands for a native token, which is for this server only.
  private func isMeant(_ audiences: [String]?, for audience: String?) -> Bool {
    guard let audiences else { return true }
    let wanted = audience ?? issuer
    return audiences.contains { $0.hasSameBytes(as: wanted) }
  }
}
