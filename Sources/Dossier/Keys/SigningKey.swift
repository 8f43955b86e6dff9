internal import Crypto
internal import CryptoExtras
import FoundationEssentials
import JSON
import Notation
import Postgres

/// A key that signs an app's tokens, and verifies what it signed.
struct SigningKey: Sendable {
  let id: String
  let purpose: KeyPurpose
  /// The first part of its tokens, with the dot behind it.
  private let head: [UInt8]
  /// That of access tokens which must not be taken for ID tokens, nor these for them.
  private let accessHead: [UInt8]
  private let pair: Pair

  private enum Pair: Sendable {
    case p256(P256.Signing.PrivateKey, P256.Signing.PublicKey)
    case rsa(_RSA.Signing.PrivateKey, _RSA.Signing.PublicKey)
  }

  /// - Parameters:
  ///   - id: the `kid` of its tokens.
  ///   - purpose: tells of which kind it is.
  ///   - secret: as `NewSigningKey` made it.
  /// - Throws: when it is no secret of that kind.
  init(id: String, for purpose: KeyPurpose, secret: [UInt8]) throws {
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
  static let accessType = "at+jwt"

  /// Makes a token; its head says that it is an access token where `isTyped`.
  ///
  /// - Source: RFC 7515 section 7.1; RFC 7518 sections 3.3 and 3.4.
  func token(_ claims: JSONObject, isTyped: Bool) throws -> String {
    var token = isTyped ? accessHead : head
    token.append(base64URL: JSON.object(claims).serialized())
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

  /// Whether it signed a token.
  func hasSigned(_ token: SignedToken) -> Bool {
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

/// A key that is about to be an app's.
struct NewSigningKey: Sendable {
  let id = ID<SigningKey>().text
  let purpose: KeyPurpose
  let publicKey: BinaryBytes
  let sealed: BinaryBytes

  /// Makes a key, which takes up to a tenth of a second for OpenID Connect.
  init(for purpose: KeyPurpose, of app: AppID, _ master: MasterKey) throws(Failure) {
    self.purpose = purpose
    do {
      let (secret, publicKey) = try Self.pair(for: purpose)
      self.publicKey = BinaryBytes(publicKey)
      sealed = BinaryBytes(try master.sealed(secret, as: "\(app) \(id)"))
    } catch {
      throw .unforeseen("a signing key cannot be made and sealed")
    }
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
