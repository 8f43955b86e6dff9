/// The error for an invalid field of a message.
package struct MailMessageError: Error, Equatable {
  package enum Field: Sendable { case id, from, fromName, to, toName, subject, text, html }

  package enum Reason: Sendable, Equatable {
    case empty
    /// CR, LF, NUL or another control character; in a body, only NUL.
    case controlCharacter
    case notASCII
    /// Not an address, or not an id.
    case malformed
    /// The text has more than `limit` bytes of UTF-8.
    case tooLong(limit: Int)
  }

  package let field: Field
  package let reason: Reason

  package init(field: Field, reason: Reason) {
    self.field = field
    self.reason = reason
  }
}
