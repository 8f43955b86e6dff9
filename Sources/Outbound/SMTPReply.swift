/// A reply of a relay.
package struct SMTPReply: Equatable, Sendable {
  package let code: Int
  /// The text of all lines, printable.
  package fileprivate(set) var text: String
  /// Whether it is the greeting, or replaced it.
  package let isFirst: Bool
}

/// Reads the replies of a relay, line by line.
package struct SMTPReplies {
  /// The last reply, which may lack lines.
  package private(set) var last: SMTPReply?
  /// Whether `last` has all of its lines.
  package private(set) var isWhole = true
  private var lines = 0
  private var hasGreeting = false

  /// The lines that a reply may have.
  private static let mostLines = 100

  package init() {}

  /// Takes a line, `250-text` or `250 text`; returns false if it is malformed.
  ///
  /// - Source: RFC 5321 §4.2.
  package mutating func take(_ line: some Collection<UInt8>) -> Bool {
    let digits = line.prefix(3)
    let separator = line.dropFirst(3).first
    guard digits.count == 3, digits.allSatisfy({ (0x30...0x39).contains($0) }),
      let code = Int(String(decoding: digits, as: UTF8.self)), (200...599).contains(code),
      separator.map({ [0x20, 0x2d, 0x0d, 0x0a].contains($0) }) ?? true
    else { return false }
    let words = line.dropFirst(4).prefix { $0 != 0x0d && $0 != 0x0a }
    let text = String(decoding: words, as: UTF8.self)
    if isWhole {
      last = SMTPReply(code: code, text: MailError.printable(text), isFirst: !hasGreeting)
      (lines, hasGreeting) = (1, true)
    } else {
      guard var reply = last, code == reply.code, lines < Self.mostLines else { return false }
      reply.text = MailError.printable("\(reply.text) \(text)")
      last = reply
      lines += 1
    }
    isWhole = separator != 0x2d
    return true
  }
}
