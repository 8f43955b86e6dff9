internal import Crypto
internal import CryptoExtras
import Encoding
package import JSON

/// A public key of an issuer.
///
/// - Source: RFC 7517 section 4; RFC 7518 sections 3 and 6; RFC 8037.
package struct IssuerKey {
  private let id: String?
  /// The only algorithm allowed for this key; nil allows all algorithms of its kind.
  private let algorithm: String?
  private let kind: Kind

  private enum Kind {
    case rsa(_RSA.Signing.PublicKey)
    case p256(P256.Signing.PublicKey)
    case p384(P384.Signing.PublicKey)
    case p521(P521.Signing.PublicKey)
    case ed25519(Curve25519.Signing.PublicKey)

    var algorithms: [String] {
      switch self {
      case .rsa: ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]
      case .p256: ["ES256"]
      case .p384: ["ES384"]
      case .p521: ["ES512"]
      case .ed25519: ["EdDSA", "Ed25519"]
      }
    }
  }

  /// Reads a member of a JWK Set; returns nil if it cannot verify tokens, or is RSA of under 2048
  /// bits.
  init?(_ jwk: JSON) {
    guard jwk["use"] == nil || jwk["use"] == "sig", let kind = try? Self.kind(of: jwk) else {
      return nil
    }
    self.kind = kind
    id = jwk["kid"]?.string
    algorithm = jwk["alg"]?.string
    if jwk["alg"] != nil {
      guard let algorithm, kind.algorithms.contains(algorithm) else { return nil }
    }
  }

  private static func kind(of jwk: JSON) throws -> Kind? {
    func bytes(_ member: String) -> [UInt8] {
      jwk[member]?.string.flatMap { [UInt8](base64URL: $0) } ?? []
    }
    // An uncompressed point.
    var point: [UInt8] { [4] + bytes("x") + bytes("y") }
    switch (jwk["kty"]?.string, jwk["crv"]?.string) {
    case ("RSA", _): return .rsa(try _RSA.Signing.PublicKey(n: bytes("n"), e: bytes("e")))
    case ("EC", "P-256"): return .p256(try P256.Signing.PublicKey(x963Representation: point))
    case ("EC", "P-384"): return .p384(try P384.Signing.PublicKey(x963Representation: point))
    case ("EC", "P-521"): return .p521(try P521.Signing.PublicKey(x963Representation: point))
    case ("OKP", "Ed25519"):
      return .ed25519(try Curve25519.Signing.PublicKey(rawRepresentation: bytes("x")))
    default: return nil
    }
  }

  /// Returns whether the key id and the algorithm in a token's header fit this key.
  func mayHaveSigned(_ token: SignedToken) -> Bool {
    guard let name = token.algorithm,
      algorithm.map({ $0 == name }) ?? kind.algorithms.contains(name)
    else { return false }
    guard let id, let wanted = token.keyID else { return true }
    return id.hasSameBytes(as: wanted)
  }

  /// Verifies the signature of a token, by the algorithm in its header.
  func hasSigned(_ token: SignedToken) -> Bool {
    let (signed, signature) = (token.signed, token.signature)
    switch kind {
    case .rsa(let key): return Self.hasSigned(token, key)
    case .p256(let key):
      return (try? P256.Signing.ECDSASignature(rawRepresentation: signature))
        .map { key.isValidSignature($0, for: signed) } ?? false
    case .p384(let key):
      return (try? P384.Signing.ECDSASignature(rawRepresentation: signature))
        .map { key.isValidSignature($0, for: signed) } ?? false
    case .p521(let key):
      return (try? P521.Signing.ECDSASignature(rawRepresentation: signature))
        .map { key.isValidSignature($0, for: signed) } ?? false
    case .ed25519(let key): return key.isValidSignature(signature, for: signed)
    }
  }

  private static func hasSigned(_ token: SignedToken, _ key: _RSA.Signing.PublicKey) -> Bool {
    let signature = _RSA.Signing.RSASignature(rawRepresentation: token.signature)

    func holds<Hash: HashFunction>(_: Hash.Type, _ padding: _RSA.Signing.Padding) -> Bool {
      key.isValidSignature(signature, for: Hash.hash(data: token.signed), padding: padding)
    }

    switch token.algorithm {
    case "RS256": return holds(SHA256.self, .insecurePKCS1v1_5)
    case "RS384": return holds(SHA384.self, .insecurePKCS1v1_5)
    case "RS512": return holds(SHA512.self, .insecurePKCS1v1_5)
    case "PS256": return holds(SHA256.self, .PSS)
    case "PS384": return holds(SHA384.self, .PSS)
    case "PS512": return holds(SHA512.self, .PSS)
    default: return false
    }
  }
}

/// The keys that verify the tokens of an issuer.
package enum IssuerKeys {
  case set([IssuerKey])
  /// A secret shared with the issuer.
  case secret([UInt8])

  /// The most keys read from a set, and the most tried for one token.
  ///
  /// Issuers publish fewer keys. Trying 8 takes at most about a millisecond.
  private static let (keyLimit, tryLimit) = (100, 8)

  /// Keeps the keys of a set that can verify, and skips the others, such as symmetric ones.
  package init(set: JSON?) {
    let keys = set?["keys"]?.array ?? []
    self = .set(keys.prefix(Self.keyLimit).compactMap(IssuerKey.init))
  }

  /// Whether a key can verify tokens.
  package var isUsable: Bool {
    if case .set(let keys) = self { !keys.isEmpty } else { true }
  }

  /// Verifies that one of the keys signed a token, by the algorithm in its header.
  ///
  /// If the token names its key, only that key and unnamed keys are tried, otherwise all keys.
  package func verify(_ token: SignedToken) -> Bool {
    switch self {
    case .set(let keys):
      keys.filter { $0.mayHaveSigned(token) }.prefix(Self.tryLimit).contains { $0.hasSigned(token) }
    case .secret(let secret): Self.isSigned(token, by: secret)
    }
  }

  private static func isSigned(_ token: SignedToken, by secret: [UInt8]) -> Bool {
    // A secret must be at least as long as the hash: RFC 7518 section 3.2.
    func holds<Hash: HashFunction>(_: Hash.Type) -> Bool {
      secret.count >= Hash.Digest.byteCount
        && HMAC<Hash>.isValidAuthenticationCode(
          token.signature, authenticating: token.signed, using: SymmetricKey(data: secret)
        )
    }

    switch token.algorithm {
    case "HS256": return holds(SHA256.self)
    case "HS384": return holds(SHA384.self)
    case "HS512": return holds(SHA512.self)
    default: return false
    }
  }
}
