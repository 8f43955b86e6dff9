internal import Crypto
internal import CryptoExtras
import FoundationEssentials
package import JSON
import Encoding
package import Postgres
package import WebTokens

/// A key that signs an app's tokens, and verifies them.
package struct SigningKey: Sendable {
  package let id: String
  package let purpose: KeyPurpose
  /// The encoded header of its tokens, with the dot.
  private let head: [UInt8]
  /// The encoded header of access tokens, which distinguishes them from ID tokens.
  private let accessHead: [UInt8]
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
    head = Array((Array(#"{\#(alike),"typ":"JWT"}"#.utf8).base64URL + ".").utf8)
    accessHead = Array(
      (Array(#"{\#(alike),"typ":"\#(Self.accessType)"}"#.utf8).base64URL + ".").utf8
    )
  }

  /// The `typ` of access tokens of OpenID Connect.
  ///
  /// - Source: RFC 9068 section 2.1.
  package static let accessType = "at+jwt"

  /// Signs claims as a token; with `isTyped`, its header marks it as an access token.
  ///
  /// - Source: RFC 7515 section 7.1; RFC 7518 sections 3.3 and 3.4.
  package func token(_ claims: JSONObject, isTyped: Bool) throws -> String {
    var token = isTyped ? accessHead : head
    token.append(base64URL: claims.serialized())
    let signature =
      switch pair {
      case .p256(let key, _): try key.signature(for: token).rawRepresentation
      case .rsa(let key, _):
        try key.signature(for: SHA256.hash(data: token), padding: .insecurePKCS1v1_5)
          .rawRepresentation
      }
    token.append(UInt8(ascii: "."))
    token.append(base64URL: Array(signature))
    return String(decoding: token, as: UTF8.self)
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
        for: SHA256.hash(data: token.signed),
        padding: .insecurePKCS1v1_5
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
      throw .internalError("a signing key cannot be made")
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
