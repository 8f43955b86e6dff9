package import Postgres

/// An id of one kind of thing: 24 hexadecimal characters in lower case, which are 4 bytes of time
/// in seconds, 5 random ones of this process, and a counter of 3.
///
/// - Source: the ObjectId of BSON, which clients of App Services expect.
package protocol Identifier: Hashable, Sendable, Bindable, LosslessStringConvertible {
  var text: String { get }
  /// Takes text that is known to be an id, from the database or a verified token.
  init(trusted text: String)
}

extension Identifier {
  /// Makes a new one.
  package init() { self.init(trusted: ObjectIDSource.next()) }

  /// Reads what a client sent; nil unless it is 24 hexadecimal digits.
  package init?(_ text: some StringProtocol) {
    guard text.utf8.count == 24, text.utf8.allSatisfy(\.isHexadecimalDigit) else { return nil }
    self.init(trusted: text.lowercased())
  }

  package var description: String { text }

  package func appendText(to bytes: inout [UInt8]) -> Bool { text.appendText(to: &bytes) }

  /// The 12 bytes that the digits stand for.
  var bytes: [UInt8] { [UInt8](hexadecimal: text.utf8) }

  init(bytes: some Sequence<UInt8>) { self.init(trusted: String(hexadecimal: bytes)) }
}

package struct AppID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct UserID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct IdentityID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct DeviceID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct SessionID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct APIKeyID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct ClientID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct IndexID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct SchemaID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}

package struct EventID: Identifier {
  package let text: String
  package init(trusted text: String) { self.text = text }
}
