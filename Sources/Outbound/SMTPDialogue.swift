internal import EventLoop

/// The commands to a relay after the login, over a connection that libcurl has opened.
///
/// libcurl would send these commands too. But after a message it waits for the reply to QUIT, and
/// holds the loop meanwhile.
@EventLoop final class SMTPDialogue {
  private let transfer: Transfer
  private let deadline: UInt64
  private var input: [UInt8] = []
  private var replies = SMTPReplies()

  /// The longest line of a reply; RFC 5321 allows 512 bytes.
  private static let longestLine = 4_096
  /// The time for the reply to QUIT, which decides nothing.
  private static let parting = Duration.seconds(2)

  /// - Parameters:
  ///   - transfer: the open connection, which `quit` closes.
  ///   - deadline: the time at which the relay must have replied to all commands.
  init(_ transfer: Transfer, until deadline: UInt64) {
    (self.transfer, self.deadline) = (transfer, deadline)
  }

  /// Names the sender and the recipient of a message.
  ///
  /// - Throws: `MailError` if the relay refuses one of them.
  func address(from sender: String, to recipient: String) async throws(MailError) {
    try await command("MAIL FROM:<\(sender)>")
    try await command("RCPT TO:<\(recipient)>")
  }

  /// Sends a message after its addresses.
  ///
  /// - Parameter message: the message.
  /// - Returns: the reply that accepts it.
  /// - Throws: `MailError` if the relay has not accepted it.
  func send(_ message: [UInt8]) async throws(MailError) -> SMTPReply {
    try await command("DATA", expecting: 300...399)
    try await send(Self.stuffed(message)[...], until: deadline)
    let reply = try await reply(until: deadline)
    try Self.check(reply, 200...299)
    return reply
  }

  /// Ends the dialogue, and closes the connection.
  ///
  /// The caller does not wait for the reply, which decides nothing.
  func quit() {
    EventLoop.task { [self] in
      let latest = EventLoop.now() &+ Self.parting.nanoseconds
      do throws(MailError) {
        try await send(Array("QUIT\r\n".utf8)[...], until: latest)
        _ = try await reply(until: latest)
      } catch {
        // The message is accepted or refused already.
      }
      transfer.close()
    }
  }

  private func command(
    _ text: String, expecting codes: ClosedRange<Int> = 200...299
  ) async throws(MailError) {
    try await send(Array("\(text)\r\n".utf8)[...], until: deadline)
    try Self.check(try await reply(until: deadline), codes)
  }

  /// Returns a message in the form in which it is sent: lines with a leading dot get another one.
  ///
  /// - Source: RFC 5321 §4.5.2.
  nonisolated static func stuffed(_ message: [UInt8]) -> [UInt8] {
    let (dot, lineFeed) = (UInt8(ascii: "."), UInt8(ascii: "\n"))
    var bytes: [UInt8] = []
    bytes.reserveCapacity(message.count + message.count / 64 + 8)
    var isAtStart = true
    for byte in message {
      if isAtStart, byte == dot { bytes.append(dot) }
      bytes.append(byte)
      isAtStart = byte == lineFeed
    }
    return bytes + Array((isAtStart ? ".\r\n" : "\r\n.\r\n").utf8)
  }

  /// Returns the error of a reply that is not one of the expected ones.
  nonisolated private static func check(_ reply: SMTPReply, _ codes: ClosedRange<Int>)
    throws(MailError)
  {
    switch reply.code {
    case codes: return
    case ..<400: throw .tryAgain(code: reply.code, reason: "unexpected: \(reply.text)")
    case ..<500: throw .tryAgain(code: reply.code, reason: reply.text)
    // Our name in EHLO, the order of commands, the login or TLS is refused, not the message.
    case 503, 504, 530, 534, 535, 538: throw .misconfigured("\(reply.code) \(reply.text)")
    default: throw .refused(code: reply.code, reply: reply.text)
    }
  }

  // MARK: Bytes

  private func send(_ bytes: ArraySlice<UInt8>, until latest: UInt64) async throws(MailError) {
    var rest = bytes
    while !rest.isEmpty {
      guard let count = transfer.send(rest) else { throw Self.lost }
      rest = rest.dropFirst(count)
      if count == 0 { try await wait(for: .write, until: latest) }
    }
  }

  private func reply(until latest: UInt64) async throws(MailError) -> SMTPReply {
    while true {
      while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
        let isReply = replies.take(input[..<end])
        input.removeSubrange(...end)
        guard isReply else { throw .tryAgain(code: nil, reason: "the relay's reply is malformed") }
        if replies.isWhole, let last = replies.last { return last }
      }
      guard input.count <= Self.longestLine else {
        throw .tryAgain(code: nil, reason: "the relay's reply is too long")
      }
      guard let bytes = transfer.receive() else { throw Self.lost }
      input += bytes
      if bytes.isEmpty { try await wait(for: .read, until: latest) }
    }
  }

  private static var lost: MailError {
    .tryAgain(code: nil, reason: "the relay closed the connection")
  }

  private func wait(for readiness: Readiness, until latest: UInt64) async throws(MailError) {
    guard await Watch.wait(for: readiness, of: transfer.socket, until: latest) else {
      throw .tryAgain(code: nil, reason: "the relay did not reply in time")
    }
  }
}

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
