import Encoding
internal import Glibc

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

extension MailMessage {
  /// Returns the message in wire format: ASCII lines of at most 998 bytes, each ended by CR LF.
  ///
  /// It does not use libcurl's `curl_mime`, which neither encodes nor checks headers: a CR LF in
  /// one starts another. `curl_mime` also encodes the line ends of quoted-printable text as `=0A`,
  /// and cannot write to a file.
  /// - Source: RFC 5322 (format), RFC 2045 and 2046 (bodies), RFC 2047 (headers), RFC 3834
  ///   (`Auto-Submitted`, which prevents automatic replies).
  package func composed() -> [UInt8] {
    var lines = [
      "From: \(Self.mailbox(from))",
      "To: \(Self.mailbox(to))",
      "Subject: \(EncodedWords.line(subject))",
      "Date: \(Self.dateTime(date))",
      "Message-ID: <\(id)>",
      "Auto-Submitted: auto-generated",
      "MIME-Version: 1.0",
    ]
    if let html {
      lines += ["Content-Type: multipart/alternative;", " boundary=\"\(boundary)\""]
      // The line end before a boundary belongs to the boundary, and the last line has one too.
      lines += ["", "--\(boundary)"] + Self.part("plain", text)
      lines += ["", "--\(boundary)"] + Self.part("html", html)
      lines += ["", "--\(boundary)--"]
    } else {
      lines += Self.part("plain", text)
    }
    return Array((lines.joined(separator: "\r\n") + "\r\n").utf8)
  }

  private static func part(_ subtype: String, _ body: String) -> [String] {
    let (encoding, lines) = TransferEncoding.encode(body)
    return [
      "Content-Type: text/\(subtype); charset=utf-8",
      "Content-Transfer-Encoding: \(encoding)",
      "",
    ] + lines
  }

  /// Returns a name and an address, which has its own line if there is a name.
  private static func mailbox(_ mailbox: MailAddress) -> String {
    guard let name = mailbox.name else { return mailbox.address }
    return "\(EncodedWords.phrase(name))\r\n <\(mailbox.address)>"
  }

  /// Returns a date such as `Fri, 21 Nov 2025 07:30:00 +0000`.
  ///
  /// The names of days and months are in the C locale, which Dossier never changes.
  private static func dateTime(_ seconds: Int) -> String {
    Clock.text(seconds, "%a, %d %b %Y %H:%M:%S +0000")
  }
}

/// Times as text, in UTC.
enum Clock {
  /// Returns a time in a `strftime` format, with a result of at most 63 bytes.
  static func text(_ seconds: Int, _ format: String) -> String {
    var moment = time_t(seconds)
    var parts = unsafe tm()
    unsafe gmtime_r(&moment, &parts)
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      guard let start = text.baseAddress else { return "" }
      let count = unsafe strftime(start, 64, format, &parts)
      return count == 0 ? "" : unsafe String(cString: start)
    }
  }
}

/// Encoding of text in mail headers.
///
/// - Source: RFC 2047; RFC 5322 §3.2.4 (quoted strings), §2.1.1 (line lengths).
enum EncodedWords {
  /// Returns text for an unstructured field: unchanged if it is short ASCII, else encoded words.
  static func line(_ text: String) -> String {
    isPlain(text) ? text : encode(text)
  }

  /// Returns a display name: a quoted string if it is short ASCII, else encoded words.
  static func phrase(_ text: String) -> String {
    guard isPlain(text) else { return encode(text) }
    var quoted = ""
    for scalar in text.unicodeScalars {
      if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
      quoted.unicodeScalars.append(scalar)
    }
    return "\"\(quoted)\""
  }

  /// Returns whether text needs no encoding.
  ///
  /// `=?` would look like the start of an encoded word, and folding at outer spaces would remove
  /// them.
  private static func isPlain(_ text: String) -> Bool {
    let bytes = Array(text.utf8)
    return bytes.count <= 60 && bytes.allSatisfy { (0x20...0x7e).contains($0) }
      && bytes.first != 0x20 && bytes.last != 0x20 && !text.contains("=?")
  }

  /// Returns encoded words of at most 64 bytes, one per line, none of which splits a character.
  ///
  /// The RFC allows 75, but a line may have 76 with the longest field name, `Subject: `.
  private static func encode(_ text: String) -> String {
    var words: [String] = []
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      let next = Array(String(scalar).utf8)
      if bytes.count + next.count > 39 {
        words.append(word(bytes))
        bytes.removeAll(keepingCapacity: true)
      }
      bytes += next
    }
    words.append(word(bytes))
    return words.joined(separator: "\r\n ")
  }

  private static func word(_ bytes: [UInt8]) -> String {
    "=?utf-8?B?\(bytes.paddedBase64)?="
  }
}

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
