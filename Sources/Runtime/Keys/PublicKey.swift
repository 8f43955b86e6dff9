internal import CryptoExtras
import EventLoop
package import JSON
import Encoding
package import Postgres

/// A public key, for programs that verify tokens without calling this server.
package struct PublicKey: RowDecodable {
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

  package init(from row: Row) throws(DatabaseError) {
    self.init(id: try row.text(0), algorithm: try row.text(1), bytes: try row.binary(2))
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

package enum PublicKeyQueries {
  /// Returns at least one row if the app exists.
  package static let all = Statement<Found<PublicKey>, String, KeyPurpose>(
    "public_keys.all",
    """
    select k.key_id, k.algorithm, k.public_key
    from apps a
    left join signing_keys k on k.app_id = a.app_id and k.purpose = $2
      and (k.retires_at is null or k.retires_at > now())
    where a.name = $1
    order by k.created_at desc, k.key_id
    """
  )

  package static let statements: [any PreparedStatement] = [all]
}
