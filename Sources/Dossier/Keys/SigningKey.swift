internal import Crypto
import FoundationEssentials
import JSON
import Notation
import Postgres

/// A key that signs an app's access tokens, and verifies what it signed.
struct SigningKey: Sendable {
  let id: String
  /// The first part of its tokens.
  private let head: String
  private let key: P256.Signing.PrivateKey
  private let publicKey: P256.Signing.PublicKey

  private static let algorithm = "ES256"

  /// - Parameters:
  ///   - id: the `kid` of its tokens.
  ///   - secret: as `NewSigningKey` made it.
  /// - Throws: when it is no number that this curve has.
  init(id: String, secret: [UInt8]) throws {
    self.id = id
    key = try P256.Signing.PrivateKey(rawRepresentation: secret)
    publicKey = key.publicKey
    head = Array(#"{"alg":"\#(Self.algorithm)","typ":"JWT","kid":"\#(id)"}"#.utf8).base64URL
  }

  /// Makes a token.
  ///
  /// - Source: RFC 7515 section 7.1; RFC 7518 section 3.4.
  func token(_ claims: JSONObject) throws -> String {
    let signed = head + "." + JSON.object(claims).serialized().base64URL
    let signature = try key.signature(for: Array(signed.utf8)).rawRepresentation
    return signed + "." + Array(signature).base64URL
  }

  /// Whether it signed a token.
  func hasSigned(_ token: SignedToken) -> Bool {
    guard token.algorithm == Self.algorithm,
      let signature = try? P256.Signing.ECDSASignature(rawRepresentation: token.signature)
    else { return false }
    return publicKey.isValidSignature(signature, for: token.signed)
  }
}

/// A key that is about to be an app's.
struct NewSigningKey {
  let id = SessionID().text
  let publicKey: BinaryBytes
  let sealed: BinaryBytes

  init(for app: AppID, _ master: MasterKey) throws(Failure) {
    let key = P256.Signing.PrivateKey()
    publicKey = BinaryBytes(Array(key.publicKey.x963Representation))
    do {
      sealed = BinaryBytes(try master.sealed(Array(key.rawRepresentation), as: "\(app) \(id)"))
    } catch {
      throw .unforeseen("a signing key cannot be sealed")
    }
  }
}
