internal import Glibc
import Encoding

/// One message to one recipient, complete and valid.
///
/// Its id, date and boundary are fixed at creation. A repeated message is identical byte for byte,
/// so a receiver can detect the duplicate.
package struct MailMessage: Sendable {
  /// The `Message-ID` without its brackets.
  package let id: String
  package let from: MailAddress
  package let to: MailAddress
  package let subject: String
  package let text: String
  package private(set) var html: String?
  /// Seconds since 1970.
  package let date: Int
  /// The separator of the parts, which the author of a body cannot guess.
  let boundary: String

  /// Creates a message after checking every field.
  ///
  /// - Parameters:
  ///   - from: an address that the relay accepts as sender; also the envelope's.
  ///   - to: the one recipient.
  ///   - subject: one line of at most 998 bytes.
  ///   - text: at most 1 MiB; lines end in LF, CR LF or CR; a missing last line end is added.
  ///   - html: the same in HTML, or nil; mail programs that support HTML show it instead of
  ///     `text`.
  ///   - id: the part of the `Message-ID` before `@`, at most 64 bytes, for a caller that stores
  ///     messages to repeat them; nil creates a random one.
  ///   - date: seconds since 1970; nil for now.
  /// - Throws: `MailMessageError` with the first invalid field.
  package init(
    from: MailAddress, to: MailAddress, subject: String, text: String, html: String? = nil,
    id: String? = nil, date: Int? = nil
  ) throws(MailMessageError) {
    let id = id ?? Self.random()
    try Self.check(.id, id.utf8.count <= 64 ? nil : .tooLong(limit: 64))
    try Self.check(.id, MailAddress.isDotString(id.utf8) ? nil : .malformed)
    try Self.check(.from, MailAddress.fault(in: from.address))
    try Self.check(.fromName, MailAddress.fault(inName: from.name ?? ""))
    try Self.check(.to, MailAddress.fault(in: to.address))
    try Self.check(.toName, MailAddress.fault(inName: to.name ?? ""))
    try Self.check(.subject, subject.isEmpty ? .empty : Self.faultInLine(subject, limit: 998))
    try Self.check(.text, Self.faultInBody(text))
    try Self.check(.html, html.flatMap(Self.faultInBody))
    self.id = "\(id)@\(from.domain)"
    self.from = from
    self.to = to
    self.subject = subject
    self.text = text
    self.html = html
    self.date = date ?? time(nil)
    boundary = "=_\(Self.random())"
  }

  /// Returns the message with an HTML part.
  ///
  /// - Parameter html: the content of the text in HTML.
  /// - Returns: the message with the same id and date.
  /// - Throws: `MailMessageError` if the HTML is invalid.
  package func with(html: String) throws(MailMessageError) -> MailMessage {
    try Self.check(.html, Self.faultInBody(html))
    var message = self
    message.html = html
    return message
  }

  /// Returns 128 random bits in hexadecimal digits.
  static func random() -> String {
    String(hexadecimal: (0..<16).map { _ in UInt8.random(in: .min ... .max) })
  }

  private static func check(
    _ field: MailMessageError.Field, _ reason: MailMessageError.Reason?
  ) throws(MailMessageError) {
    if let reason { throw MailMessageError(field: field, reason: reason) }
  }

  static func faultInLine(_ line: String, limit: Int) -> MailMessageError.Reason? {
    if line.utf8.count > limit { return .tooLong(limit: limit) }
    return line.hasControlCharacters ? .controlCharacter : nil
  }

  private static func faultInBody(_ body: String) -> MailMessageError.Reason? {
    let limit = 1_048_576
    if body.utf8.count > limit { return .tooLong(limit: limit) }
    return body.utf8.contains(0) ? .controlCharacter : nil
  }
}
