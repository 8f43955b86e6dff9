package import EventLoop
import FoundationEssentials
import Glibc
internal import JWTKit

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

  /// Makes the token of a session.
  func issue(for caller: Caller, lifetime: Duration) async throws(Failure) -> String {
    let signer = try await keys.signer(for: caller.app)
    let now = clock()
    let claims = Claims(
      iss: issuer,
      sub: caller.user.text,
      sid: caller.session?.text ?? "",
      did: caller.device?.text ?? "",
      app: caller.app.text,
      scope: caller.scopes.text,
      iat: now,
      exp: now + Int(lifetime.components.seconds)
    )
    do {
      let header = Data(#"{"alg":"ES256","typ":"JWT","kid":"\#(signer.keyID)"}"#.utf8)
      let payload = try DefaultJWTSerializer().serialize(claims)
      var token = Data(header.base64URL.utf8) + Data(".".utf8) + payload
      let signature = try signer.algorithm.sign(token)
      token += Data(".".utf8) + Data(Data(signature).base64URL.utf8)
      return String(decoding: token, as: UTF8.self)
    } catch {
      throw .unforeseen("an access token cannot be signed")
    }
  }

  /// Reads a token that a client sent, for a route of `app`.
  ///
  /// The signature is checked once and the outcome remembered until the token expires.
  /// - Throws: `.unauthenticated`, `.unavailable`.
  package func caller(of token: String, app: AppID) async throws(Failure) -> Caller {
    let now = clock()
    if let known = verified[token] {
      guard known.expires > now else { throw .unauthenticated(.expired) }
      guard known.caller.app == app else { throw .unauthenticated(.malformed) }
      return known.caller
    }
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
    verified[token] = TokenCache.Entry(caller: caller, expires: claims.exp)
    return caller
  }

  private func verify(_ token: String, _ app: AppID) async throws(Failure) -> Claims {
    // Ours have about 500 bytes; what is far longer is not worth parsing. The parser takes padding
    // of the signature, with which one token would have several texts.
    guard token.utf8.count <= 4_096, SignedToken(token) != nil,
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

/// Verified tokens: two generations, of which the older goes when the younger is full.
struct TokenCache {
  struct Entry {
    let caller: Caller
    let expires: Int
  }

  /// About 1 KB each, so some 20 MB when both generations are full.
  private let generationSize: Int
  private var young: [String: Entry] = [:]
  private var old: [String: Entry] = [:]

  init(generationSize: Int = 10_000) { self.generationSize = generationSize }

  /// How many are remembered.
  var count: Int { young.count + old.count }

  subscript(token: String) -> Entry? {
    mutating get {
      if let entry = young[token] { return entry }
      guard let entry = old[token] else { return nil }
      self[token] = entry
      return entry
    }
    set {
      if young.count >= generationSize {
        old = young
        young = [:]
      }
      young[token] = newValue
    }
  }
}

extension Data {
  /// - Source: RFC 4648 section 5, without padding.
  var base64URL: String {
    let bytes = base64EncodedData().compactMap { byte -> UInt8? in
      switch byte {
      case UInt8(ascii: "+"): UInt8(ascii: "-")
      case UInt8(ascii: "/"): UInt8(ascii: "_")
      case UInt8(ascii: "="): nil
      default: byte
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Nil unless it is what `base64URL` makes of some bytes: no two texts are one token.
  init?(base64URL text: some StringProtocol) {
    guard text.utf8.allSatisfy(\.isBase64URL) else { return nil }
    var bytes = text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "-"): UInt8(ascii: "+")
      case UInt8(ascii: "_"): UInt8(ascii: "/")
      default: byte
      }
    }
    bytes += [UInt8](repeating: UInt8(ascii: "="), count: (4 - bytes.count % 4) % 4)
    self.init(base64Encoded: Data(bytes))
    guard base64URL == text else { return nil }
  }
}

extension UInt8 {
  fileprivate var isBase64URL: Bool {
    switch self {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
