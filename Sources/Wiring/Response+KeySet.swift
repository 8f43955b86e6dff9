package import Dossier
package import HTTP
import JSON

extension Response {
  /// Public keys as a JSON Web Key Set, which may be kept for as long as it takes a new key to sign.
  ///
  /// - Source: RFC 7517 section 5.
  package init(keySet keys: [PublicKey]) {
    let set: JSON = ["keys": .array(keys.map(\.jwk))]
    self.init(.ok)
    body = set.serialized()
    add(.contentType, "application/json")
    add(.cacheControl, "public, max-age=\(PublicKey.age.components.seconds)")
  }
}
