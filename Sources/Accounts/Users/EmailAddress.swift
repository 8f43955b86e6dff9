package import Runtime
package import EventLoop
import JSON
import Encoding
import Outbound
package import Postgres

/// An email address as a client sent it.
package struct EmailAddress {
  /// The comparison key of the address, computed as `email_key` in the database does.
  ///
  /// Use no other folding. Otherwise two spellings could count separately that the database treats
  /// as equal.
  package let key: String

  package init(key: String) { self.key = key }

  /// Folds an address, with a query unless it is ASCII, which both fold alike.
  ///
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package init(_ text: String, _ context: RequestContext) async throws(Failure) {
    if let key = Self.asciiKey(text) {
      self.key = key
      return
    }
    let rows = try await context.read(EmailAddressQueries.key, text)
    key = try rows.first.orUnforeseen("the key of an address")
  }

  /// Returns the key of an ASCII address; nil for other addresses.
  ///
  /// `email_key` in the database trims spaces, normalizes and lowercases.
  private static func asciiKey(_ text: String) -> String? {
    let space = UInt8(ascii: " ")
    var bytes = Array(text.utf8)
    while bytes.last == space { bytes.removeLast() }
    bytes.removeFirst(bytes.prefix { $0 == space }.count)
    for (index, byte) in bytes.enumerated() {
      guard byte < 0x80 else { return nil }
      if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) { bytes[index] = byte | 0x20 }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the stored form of an address: the typed text, or the key if mail reaches only the
  /// key.
  ///
  /// Otherwise a user with the address in full-width letters would get no mail, and keep the
  /// address.
  package func stored(_ typed: String) -> String { Self.stored(typed, key) }

  /// Throws `.invalid` if no mail can be sent to the address, whether or not a user has it.
  package func requireMail(_ typed: String) throws(Failure) {
    guard MailAddress.fault(in: stored(typed)) != nil else { return }
    let rule =
      "No mail can be sent to this address. The part before the @ must be ASCII. Write an "
      + "international domain in its xn-- form."
    throw .invalid([FieldError("/email", "email", rule)])
  }

  /// Returns the stored form of an address whose key is known.
  package static func stored(_ typed: String, _ key: String) -> String {
    MailAddress.fault(in: typed) != nil && MailAddress.fault(in: key) == nil ? key : typed
  }
}

package enum EmailAddressQueries {
  static let key = Statement<String, String>("email_addresses.key", "select email_key($1)")

  package static let all: [any PreparedStatement] = [key]
}
