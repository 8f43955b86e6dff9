internal import Crypto
internal import CryptoExtras
import Encoding
import FoundationEssentials
package import JSON
package import Postgres
package import WebTokens

/// A key that signs an app's tokens, and verifies them.
package struct SigningKey: Sendable {
  package let id: String
  package let purpose: KeyPurpose
  /// The encoded headers of its tokens, with the dot.
  private let (head, accessHead, logoutHead): ([UInt8], [UInt8], [UInt8])
  private let pair: Pair

  private enum Pair: Sendable {
    case p256(P256.Signing.PrivateKey, P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PrivateKey, _RSA.Signing.PublicKey)
  }

  /// - Parameters:
  ///   - id: the `kid` of its tokens.
  ///   - purpose: the purpose, which determines the algorithm.
  ///   - secret: the private key as `NewSigningKey` encodes it.
  /// - Throws: an error if the secret is not a key of that algorithm.
  package init(id: String, for purpose: KeyPurpose, secret: [UInt8]) throws {
    self.id = id
    self.purpose = purpose
    switch purpose {
    case .native:
      let key = try P256.Signing.PrivateKey(rawRepresentation: secret)
      pair = .p256(key, key.publicKey)
    case .openID:
      let key = try _RSA.Signing.PrivateKey(derRepresentation: secret)
      pair = .rsa(key, key.publicKey)
    }
    let alike = #""alg":"\#(purpose.algorithm)","kid":"\#(id)""#
    func head(_ type: TokenType) -> [UInt8] {
      Array((Array(#"{\#(alike),"typ":"\#(type.rawValue)"}"#.utf8).base64URL + ".").utf8)
    }
    (self.head, accessHead, logoutHead) = (head(.usual), head(.access), head(.logout))
  }

  /// The `typ` in the header of a token, which keeps one kind from being taken for another.
  package enum TokenType: String, Sendable {
    /// ID tokens, and the tokens of the other wires.
    case usual = "JWT"
    /// Access tokens of OpenID Connect.
    ///
    /// - Source: RFC 9068 section 2.1.
    case access = "at+jwt"
    /// - Source: OpenID Connect Back-Channel Logout section 2.4.
    case logout = "logout+jwt"
  }

  /// The `typ` of access tokens of OpenID Connect.
  package static let accessType = TokenType.access.rawValue

  /// Signs claims, an object in JSON, as a token of a type.
  ///
  /// - Source: RFC 7515 section 7.1; RFC 7518 sections 3.3 and 3.4.
  package func token(_ claims: [UInt8], as type: TokenType = .usual) throws -> String {
    var token =
      switch type {
      case .usual: head
      case .access: accessHead
      case .logout: logoutHead
      }
    token.append(base64URL: claims)
    let signature =
      switch pair {
      case .p256(let key, _): try key.signature(for: Self.hash(of: token)).rawRepresentation
      case .rsa(let key, _):
        try key.signature(for: Self.hash(of: token), padding: .insecurePKCS1v1_5)
          .rawRepresentation
      }
    token.append(UInt8(ascii: "."))
    token.append(base64URL: Array(signature))
    return String(decoding: token, as: UTF8.self)
  }

  /// Returns the hash of a token, without the generic code of `SHA256.hash(data:)`.
  private static func hash(of token: [UInt8]) -> SHA256Digest {
    var hash = SHA256()
    token.withUnsafeBytes { hash.update(bufferPointer: $0) }
    return hash.finalize()
  }

  /// Returns whether this key signed a token.
  package func hasSigned(_ token: SignedToken) -> Bool {
    guard token.algorithm == purpose.algorithm else { return false }
    switch pair {
    case .p256(_, let key):
      return (try? P256.Signing.ECDSASignature(rawRepresentation: token.signature))
        .map { key.isValidSignature($0, for: token.signed) } ?? false
    case .rsa(_, let key):
      return key.isValidSignature(
        _RSA.Signing.RSASignature(rawRepresentation: token.signature),
        for: SHA256.hash(data: token.signed), padding: .insecurePKCS1v1_5
      )
    }
  }
}

/// A new key of an app, not yet stored.
package struct NewSigningKey: Sendable {
  package let id = ID<SigningKey>().text
  package let purpose: KeyPurpose
  package let publicKey: BinaryBytes
  package let sealed: BinaryBytes

  /// Creates a key; one for OpenID Connect takes at most a tenth of a second.
  package init(for purpose: KeyPurpose, of app: AppID, _ master: MasterKey) throws(Failure) {
    self.purpose = purpose
    guard let (secret, publicKey) = try? Self.pair(for: purpose) else {
      throw .internalError(reason: "a signing key cannot be made")
    }
    self.publicKey = BinaryBytes(publicKey)
    sealed = BinaryBytes(try master.sealed(secret, as: "\(app) \(id)"))
  }

  private static func pair(
    for purpose: KeyPurpose
  ) throws -> (secret: [UInt8], publicKey: [UInt8]) {
    switch purpose {
    case .native:
      let key = P256.Signing.PrivateKey()
      return (Array(key.rawRepresentation), Array(key.publicKey.x963Representation))
    case .openID:
      let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
      return (Array(key.derRepresentation), Array(key.publicKey.derRepresentation))
    }
  }
}

/// A public key, for programs that verify tokens without calling this server.
package struct PublicKey: Sendable {
  /// The `kid` in the header of the tokens that it verifies.
  package let id: String
  private let algorithm: String
  /// The encoding of `NewSigningKey`.
  private let bytes: [UInt8]

  package init(id: String, algorithm: String, bytes: [UInt8]) {
    self.id = id
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// The key as a member of a JWK Set.
  ///
  /// - Source: RFC 7517 section 4; RFC 7518 section 6.
  package var jwk: JSON {
    var jwk = JSONObject()
    jwk["kid"] = .string(id)
    jwk["alg"] = .string(algorithm)
    jwk["use"] = "sig"
    if algorithm == KeyPurpose.openID.algorithm {
      let rsa = try? _RSA.Signing.PublicKey(derRepresentation: bytes).getKeyPrimitives()
      jwk["kty"] = "RSA"
      jwk["n"] = .string((rsa.map { Array($0.modulus) } ?? []).base64URL)
      jwk["e"] = .string((rsa.map { Array($0.publicExponent) } ?? []).base64URL)
    } else {
      // An uncompressed point: 4, then its coordinates of 32 bytes each.
      jwk["kty"] = "EC"
      jwk["crv"] = "P-256"
      jwk["x"] = .string(Array(bytes.dropFirst().prefix(32)).base64URL)
      jwk["y"] = .string(Array(bytes.suffix(32)).base64URL)
    }
    return .object(jwk)
  }

  /// The cache lifetime of an app's keys; a new key does not sign before it is that old.
  package static let age = Duration.seconds(30)
}
