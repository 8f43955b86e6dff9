import EventLoop
import JSON
import Notation
import Outbound
package import Postgres

/// An address of mail as somebody typed it.
struct EmailAddress {
  /// What all ways to type the address have in common, by the database's `email_key`.
  ///
  /// Whatever is counted or found by an address goes by this and nothing else: a second fold in
  /// Swift would let a form pass a guard that the database takes for the same address.
  let key: String

  init(key: String) { self.key = key }

  /// Folds an address; asks the database unless it is of ASCII, whose fold both do alike.
  ///
  /// - Throws: `.unavailable`.
  @EventLoop init(_ text: String, _ context: Context) async throws(Failure) {
    try await self.init(text, context.store)
  }

  /// As the other, where there is no request of a user.
  @EventLoop init(_ text: String, _ store: Store) async throws(Failure) {
    if let key = Self.asciiKey(text) {
      self.key = key
      return
    }
    let rows = try await store.read(EmailAddressQueries.key, text)
    key = try rows.first.orUnforeseen("the key of an address")
  }

  /// Returns the key of an address of ASCII; nil for another.
  ///
  /// `email_key` of the database trims spaces, normalizes and makes lower case.
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

  /// What is stored of a form that was typed: it, unless mail can be sent to the key alone.
  ///
  /// Codes go to the first who claims an address: one who did so in full-width letters, to which no
  /// mail can be sent, would keep them from all others.
  func stored(_ typed: String) -> String { Self.stored(typed, key) }

  /// The same of an address whose key is known.
  static func stored(_ typed: String, _ key: String) -> String {
    MailAddress.fault(in: typed) != nil && MailAddress.fault(in: key) == nil ? key : typed
  }
}

package enum EmailAddressQueries {
  static let key = Statement<String, String>("email_addresses.key", "select email_key($1)")

  package static let all: [any PreparedStatement] = [key]
}
