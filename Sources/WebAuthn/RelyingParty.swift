import Crypto
import JSON

/// The app as authenticators know it, and the origins of its pages and apps.
package struct RelyingParty: Sendable {
  /// The RP ID: a domain, for which each passkey is made.
  package let id: String
  /// The origins of pages and apps, beside `https://` with the RP ID.
  package let origins: [String]

  package init(id: String, origins: [String] = []) { (self.id, self.origins) = (id, origins) }

  /// The hash of the RP ID, as in authenticator data.
  var hash: [UInt8] { Array(SHA256.hash(data: Array(id.utf8))) }

  /// Returns whether pages of an origin may use the passkeys; origins are compared by bytes.
  ///
  /// At the RP ID `localhost`, `http://localhost` with any port is one, for development.
  func accepts(_ origin: String) -> Bool {
    if "https://\(id)".hasSameBytes(as: origin) || origins.contains(where: origin.hasSameBytes) {
      return true
    }
    let base = "http://localhost"
    guard id.hasSameBytes(as: "localhost"), origin.utf8.starts(with: base.utf8) else {
      return false
    }
    let port = String(decoding: origin.utf8.dropFirst(base.utf8.count), as: UTF8.self)
    guard !port.isEmpty else { return true }
    return UInt16(port.dropFirst()).map { $0 > 0 && ":\($0)".hasSameBytes(as: port) } ?? false
  }
}
