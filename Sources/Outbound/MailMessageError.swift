/// Why a text cannot be part of a message.
package struct MailMessageError: Error, Equatable {
  package enum Field: Sendable { case id, from, fromName, to, toName, subject, text, html }

  package enum Reason: Sendable, Equatable {
    case empty
    /// CR, LF, NUL or another control character; in a body NUL alone.
    case controlCharacter
    case notASCII
    /// Not an address, or not an id.
    case malformed
    /// More bytes of UTF-8 than `limit`.
    case tooLong(limit: Int)
  }

  package let field: Field
  package let reason: Reason

  package init(field: Field, reason: Reason) {
    self.field = field
    self.reason = reason
  }
}
