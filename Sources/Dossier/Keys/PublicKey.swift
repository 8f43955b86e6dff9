import EventLoop
package import JSON
import Notation
package import Postgres

/// What verifies the signature of an access token, for whoever does so without asking this server.
package struct PublicKey: RowDecodable {
  /// The `kid` in the head of each token that it verifies.
  package let id: String
  /// A point of the curve P-256: 4, then its coordinates of 32 bytes each.
  private let point: [UInt8]

  init(id: String, point: [UInt8]) {
    self.id = id
    self.point = point
  }

  package init(from row: Row) throws(DatabaseError) {
    self.init(id: try row.text(0), point: try row.binary(1))
  }

  /// As a member of a JWK Set.
  ///
  /// - Source: RFC 7517 section 4; RFC 7518 section 6.2.
  package var jwk: JSON {
    [
      "kty": "EC", "crv": "P-256", "x": .string(Array(point.dropFirst().prefix(32)).base64URL),
      "y": .string(Array(point.suffix(32)).base64URL), "kid": .string(id), "alg": "ES256",
      "use": "sig",
    ]
  }

  /// For how many seconds the keys of an app may be kept: a new key signs nothing before it has been
  /// there for as long.
  package static let age = 30

  /// The keys that verify the access tokens of an app, the newest first.
  ///
  /// - Throws: `.unknownApp`, `.unavailable`.
  @EventLoop package static func all(
    of app: String,
    in store: Store
  ) async throws(Failure) -> [PublicKey] {
    guard let keys = try await store.list(PublicKeyQueries.all, app) else { throw .unknownApp }
    return keys
  }
}

package enum PublicKeyQueries {
  /// One row at least when there is such an app.
  static let all = Statement<Found<PublicKey>, String>(
    "public_keys.all",
    """
    select k.key_id, k.public_key
    from apps a
    left join signing_keys k on k.app_id = a.app_id and k.purpose = 'access'
      and (k.retires_at is null or k.retires_at > now())
    where a.name = $1
    order by k.created_at desc, k.key_id
    """
  )

  package static let statements: [any PreparedStatement] = [all]
}
