internal import Crypto
import Encoding
package import Postgres

/// The id of a resource, of one of the types below.
package protocol Identifier: Hashable, Sendable, Bindable, LosslessStringConvertible {
  var text: String { get }

  /// Wraps text that is known to be an id, from the database or a verified token.
  init(trusted text: String)
}

extension Identifier {
  package var description: String { text }

  package func appendText(to bytes: inout [UInt8]) -> Bool { text.appendText(to: &bytes) }
}

/// The id of a resource: 24 hexadecimal characters in lower case; the first 8 are the time in
/// seconds.
///
/// The type parameter `Of` prevents confusing ids of different kinds.
/// - Source: the ObjectId of BSON, which clients of App Services expect.
package struct ID<Of>: Identifier {
  package let text: String

  package init(trusted text: String) { self.text = text }

  /// Creates a new id.
  package init() { text = ObjectIDSource.next() }

  /// Parses a client's text; returns nil unless it is 24 hexadecimal digits.
  package init?(_ text: some StringProtocol) {
    guard text.utf8.count == 24, text.utf8.allSatisfy(\.isHexadecimalDigit) else { return nil }
    self.text = text.lowercased()
  }

  package init(bytes: some Sequence<UInt8>) { text = String(hexadecimal: bytes) }

  /// Makes the id of a text, the same each time.
  package init(hashing text: String) {
    self.init(bytes: SHA256.hash(data: Array(text.utf8)).prefix(12))
  }

  /// The 12 bytes of the digits.
  package var bytes: [UInt8] { [UInt8](hexadecimal: text.utf8) ?? [] }
}

/// The kinds of resources that have ids.
package enum Kinds {
  package enum App {}
  package enum User {}
  package enum Identity {}
  package enum Device {}
  package enum Session {}
  package enum APIKey {}
  package enum ResourceServer {}
  package enum Role {}
  package enum Index {}
  package enum Schema {}
  package enum Event {}
  package enum Import {}
}

package typealias AppID = ID<Kinds.App>
package typealias UserID = ID<Kinds.User>
package typealias IdentityID = ID<Kinds.Identity>
package typealias DeviceID = ID<Kinds.Device>
package typealias SessionID = ID<Kinds.Session>
package typealias APIKeyID = ID<Kinds.APIKey>
package typealias ResourceServerID = ID<Kinds.ResourceServer>
package typealias RoleID = ID<Kinds.Role>
package typealias IndexID = ID<Kinds.Index>
package typealias SchemaID = ID<Kinds.Schema>
package typealias EventID = ID<Kinds.Event>
package typealias ImportID = ID<Kinds.Import>
