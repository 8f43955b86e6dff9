internal import CryptoExtras
package import JSON
import Encoding

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
