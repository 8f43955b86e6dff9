internal import CCurl
internal import EventLoop

/// Delivery to an SMTP relay.
struct SMTPDelivery: Sendable {
  private let relay: SMTPRelay
  private let reach: TransferTimeouts
  private let url: String
  /// Whether a certificate must be trusted.
  private let verifies: Bool

  init(_ relay: SMTPRelay, _ reach: TransferTimeouts) throws(MailError) {
    self.relay = relay
    self.reach = reach
    guard (relay.user == nil) == (relay.password == nil) else {
      throw .misconfigured("a user without a password, or a password without a user")
    }
    guard [relay.user, relay.password].allSatisfy({ !($0 ?? "").utf8.contains(0) }) else {
      throw .misconfigured("the user or the password contains NUL")
    }
    guard let address = RelayURL(relay.url) else {
      throw .misconfigured("the relay's URL is not smtp://host[:port] or smtps://host[:port]")
    }
    guard MailAddress.isClientName(relay.clientName) else {
      throw .misconfigured(
        "\(MailError.printable(relay.clientName)) is neither a host name nor an address literal, "
          + "as relays expect it in EHLO"
      )
    }
    // libcurl takes the name in EHLO from the path, which it decodes.
    let name = relay.clientName.replacing("[", with: "%5B").replacing("]", with: "%5D")
    url = "\(address.scheme)://\(address.authority)/\(name)"
    verifies = address.scheme == "smtps" || relay.startTLS == .required
  }

  /// Sends a message.
  ///
  /// - Parameters:
  ///   - message: the message.
  ///   - group: the group of the connection.
  /// - Returns: the reply that accepts it.
  /// - Throws: `MailError` if the relay has not accepted it.
  @EventLoop func send(
    _ message: MailMessage, in group: TransferGroup
  ) async throws(MailError) -> String {
    let dialogue = try await connect(in: group)
    defer { dialogue.quit() }
    try await dialogue.address(from: message.from.address, to: message.to.address)
    let reply = try await dialogue.send(message.composed())
    return "\(reply.code) \(reply.text)"
  }

  /// Names a sender to the relay, and the postmaster of its domain as recipient.
  ///
  /// - Throws: `MailError` if the relay would accept no such message.
  @EventLoop func check(from sender: String?, in group: TransferGroup) async throws(MailError) {
    let dialogue = try await connect(in: group)
    defer { dialogue.quit() }
    guard let sender else { return }
    let domain = sender[(sender.lastIndex(of: "@") ?? sender.startIndex)...]
    try await dialogue.address(from: sender, to: "postmaster\(domain)")
  }

  /// Connects, and logs in.
  @EventLoop private func connect(in group: TransferGroup) async throws(MailError) -> SMTPDialogue {
    let deadline = EventLoop.now() &+ reach.timeout.nanoseconds
    let ear = Ear()
    let transfer = Transfer(url: url, protocols: "smtp,smtps", reach: reach)
    let needsTLS = relay.startTLS == .required ? CURLUSESSL_ALL : CURLUSESSL_TRY
    transfer.set(CURLOPT_USE_SSL, Int(needsTLS.rawValue))
    if !verifies {
      transfer.set(CURLOPT_SSL_VERIFYPEER, 0)
      transfer.set(CURLOPT_SSL_VERIFYHOST, 0)
    }
    if let user = relay.user, let password = relay.password {
      transfer.set(CURLOPT_USERNAME, user)
      transfer.set(CURLOPT_PASSWORD, password)
    }
    unsafe transfer.set(CURLOPT_HEADERFUNCTION, Self.hear, CURLOPT_HEADERDATA, ear)
    if let failure = await transfer.connect(in: group) { throw Self.error(failure, ear.refusal) }
    return SMTPDialogue(transfer, until: deadline)
  }

  /// Returns the error of a failed connection.
  ///
  /// libcurl's code shows the failed step, the reply the relay's reason.
  private static func error(_ failure: TransferFailure, _ refusal: SMTPReply?) -> MailError {
    let reason = MailError.printable(failure.reason)
    switch failure.code {
    case CURLE_USE_SSL_FAILED, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_ISSUER_ERROR, CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
      return .misconfigured(reason)
    case CURLE_OPERATION_TIMEDOUT:
      return .tryAgain(code: nil, reason: reason)
    case CURLE_LOGIN_DENIED where refusal == nil:
      // The client and the relay support no common login mechanism.
      return .misconfigured(reason)
    default: break
    }
    guard let reply = refusal else { return .tryAgain(code: nil, reason: reason) }
    // No message was offered, so none is refused.
    return reply.code < 500
      ? .tryAgain(code: reply.code, reason: reply.text)
      : .misconfigured("\(reply.code) \(reply.text)")
  }

  private static let hear: CCurlBytes = { bytes, size, count, context in
    guard let context = unsafe context, let bytes = unsafe bytes else { return 0 }
    let ear = unsafe Unmanaged<Ear>.fromOpaque(context).takeUnretainedValue()
    unsafe ear.hear(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return size * count
  }

  /// The replies that libcurl reads until the connection is open.
  private final class Ear {
    private var replies = SMTPReplies()

    /// The last reply, if it refuses.
    var refusal: SMTPReply? { replies.last.flatMap { $0.code < 400 ? nil : $0 } }

    func hear(_ line: UnsafeRawBufferPointer) { _ = unsafe replies.take(line) }
  }
}

/// The relevant parts of a relay's URL.
private struct RelayURL {
  let scheme: String
  /// The host, with a port if the URL has one.
  let authority: String

  /// Parses a URL; nil if it has another scheme, no host, or more than host and port.
  ///
  /// A password in the URL, for example, would be visible wherever the settings are printed.
  init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3 || parts.count == 4 && parts[3].isEmpty, parts[1].isEmpty,
      ["smtp:", "smtps:"].contains(parts[0].lowercased())
    else { return nil }
    let allowed = Set("[]:.-_".utf8)
    let isClean = parts[2].utf8.allSatisfy { byte in
      allowed.contains(byte) || (0x30...0x39).contains(byte) || (0x61...0x7a).contains(byte | 0x20)
    }
    guard isClean, !parts[2].isEmpty, parts[2].first != ":" else { return nil }
    scheme = parts[0].dropLast().lowercased()
    authority = String(parts[2])
  }
}
