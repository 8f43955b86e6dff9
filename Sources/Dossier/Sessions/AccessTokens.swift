package import EventLoop
import FoundationEssentials
import Glibc
package import JSON
internal import JWTKit
import Notation

/// Access tokens of the native and App Services wires: JWTs signed with ES256.
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

  /// Makes the token of a session, with members that the wire adds.
  ///
  /// - Throws: `.unavailable`.
  package func issue(
    for caller: Caller,
    lifetime: Duration,
    _ claimsOfWire: [(String, JSON)] = []
  ) async throws(Failure) -> String {
    let signer = try await keys.signer(for: caller.app)
    let now = clock()
    var claims = JSONObject()
    // First, so that they take the place of none of ours.
    for (name, value) in claimsOfWire { claims[name] = value }
    claims["iss"] = .string(issuer)
    claims["sub"] = .string(caller.user.text)
    claims["sid"] = .string(caller.session?.text ?? "")
    claims["did"] = .string(caller.device?.text ?? "")
    claims["app"] = .string(caller.app.text)
    claims["scope"] = .string(caller.scopes.text)
    claims["iat"] = .number(JSONNumber(now))
    claims["exp"] = .number(JSONNumber(now + lifetime.wholeSeconds))
    let header = Array(#"{"alg":"ES256","typ":"JWT","kid":"\#(signer.keyID)"}"#.utf8)
    let signed = header.base64URL + "." + JSON.object(claims).serialized().base64URL
    do {
      return signed + "." + (try signer.algorithm.sign(Array(signed.utf8))).base64URL
    } catch {
      throw .unforeseen("an access token cannot be signed")
    }
  }

  /// Reads a token as `caller` does, if it was verified before.
  ///
  /// - Parameters:
  ///   - token: as it came, whatever bytes it has.
  ///   - app: of the route.
  /// - Returns: nil when `caller` has to be asked.
  /// - Throws: `.unauthenticated`.
  package func known(_ token: Span<UInt8>, app: AppID) throws(Failure) -> Caller? {
    guard let known = verified[token] else { return nil }
    guard known.expires > clock() else { throw .unauthenticated(.expired) }
    guard known.caller.app == app else { throw .unauthenticated(.malformed) }
    return known.caller
  }

  /// Reads a token that a client sent, for a route of `app`.
  ///
  /// The signature is checked once and the outcome remembered until the token expires.
  /// - Throws: `.unauthenticated`, `.unavailable`.
  package func caller(of token: String, app: AppID) async throws(Failure) -> Caller {
    if let known = try known(token.utf8.span, app: app) { return known }
    let now = clock()
    let claims = try await verify(token, app)
    guard claims.exp > now else { throw .unauthenticated(.expired) }
    guard let user = UserID(claims.sub), let session = SessionID(claims.sid),
      let device = DeviceID(claims.did)
    else { throw .unauthenticated(.malformed) }
    let caller = Caller(
      user: user,
      session: session,
      device: device,
      app: app,
      scopes: Scopes(claims.scope)
    )
    verified.insert(TokenCache.Entry(token: Array(token.utf8), caller: caller, expires: claims.exp))
    return caller
  }

  private func verify(_ token: String, _ app: AppID) async throws(Failure) -> Claims {
    // What is far longer than ours is not worth parsing. The parser takes padding of the signature,
    // with which one token would have several texts.
    guard token.utf8.count <= Self.tokenLimit, SignedToken(token) != nil,
      token.utf8.allSatisfy({ $0.isBase64URL || $0 == UInt8(ascii: ".") }),
      let parts = try? DefaultJWTParser().parse(Data(token.utf8), as: Claims.self),
      parts.header.alg == "ES256", let keyID = parts.header.kid,
      parts.payload.iss == issuer, parts.payload.app == app.text
    else { throw .unauthenticated(.malformed) }
    guard let algorithm = try await keys.verifier(keyID: keyID, app: app) else {
      throw .unauthenticated(.malformed)
    }
    let bytes = Data(token.utf8)
    guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")),
      (try? algorithm.verify(parts.signature, signs: bytes[..<dot])) == true
    else { throw .unauthenticated(.malformed) }
    return parts.payload
  }
}

/// The claims of an access token.
private struct Claims: JWTPayload {
  let iss: String
  let sub: String
  let sid: String
  let did: String
  let app: String
  let scope: String
  let iat: Int
  let exp: Int

  /// Expiry is checked by the caller, who also checks it for remembered tokens.
  func verify(using algorithm: some JWTAlgorithm) {}
}
