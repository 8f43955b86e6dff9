package import Runtime
package import HTTP
import JSON

extension Response {
  /// Creates a response with public keys as a JSON Web Key Set.
  ///
  /// Clients may cache the set for as long as a new key waits before it signs.
  /// - Source: RFC 7517 section 5.
  package init(keySet keys: [PublicKey]) {
    let set: JSON = ["keys": .array(keys.map(\.jwk))]
    self.init(.ok)
    body = set.serialized()
    add(.contentType, "application/json")
    add(.cacheControl, "public, max-age=\(PublicKey.age.components.seconds)")
  }
}
