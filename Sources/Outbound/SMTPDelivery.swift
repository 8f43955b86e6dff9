internal import CCurl
internal import Glibc

/// The blocking part of SMTP delivery.
struct SMTPDelivery: Sendable {
  private let relay: SMTPRelay
  private let reach: TransferTimeouts
  private let url: String

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
    url = "\(address.scheme)://\(address.authority)/"
  }

  /// Sends a message; returns the error, or nil.
  func send(_ message: MailMessage) -> MailError? {
    let exchange = Exchange(message.composed())
    let recipients = TextList(["<\(message.to.address)>"])
    var transfer = transfer(with: exchange)
    transfer.set(CURLOPT_MAIL_FROM, "<\(message.from.address)>")
    transfer.set(CURLOPT_MAIL_RCPT, recipients)
    transfer.set(CURLOPT_UPLOAD, 1)
    transfer.set(CURLOPT_INFILESIZE_LARGE, exchange.message.count)
    unsafe transfer.set(CURLOPT_READFUNCTION, Self.give, CURLOPT_READDATA, exchange)
    let failure = withExtendedLifetime(exchange) { transfer.run() }
    return failure.map { Self.error($0, exchange) }
  }

  /// Performs the steps before a message; a relay that accepts them would accept a message.
  func greet() -> MailError? {
    let exchange = Exchange([])
    var transfer = transfer(with: exchange)
    transfer.set(CURLOPT_CUSTOMREQUEST, "NOOP")
    transfer.set(CURLOPT_NOBODY, 1)
    let failure = withExtendedLifetime(exchange) { transfer.run() }
    return failure.map { Self.error($0, exchange) }
  }

  private func transfer(with exchange: Exchange) -> Transfer {
    var transfer = Transfer(url: url, protocols: "smtp,smtps", reach: reach)
    let needsTLS = relay.startTLS == .required ? CURLUSESSL_ALL : CURLUSESSL_TRY
    transfer.set(CURLOPT_USE_SSL, Int(needsTLS.rawValue))
    if let user = relay.user, let password = relay.password {
      transfer.set(CURLOPT_USERNAME, user)
      transfer.set(CURLOPT_PASSWORD, password)
    }
    unsafe transfer.set(CURLOPT_HEADERFUNCTION, Self.hear, CURLOPT_HEADERDATA, exchange)
    return transfer
  }

  /// Returns the error of a failed transfer.
  ///
  /// libcurl's code shows the failed step, the reply the relay's reason.
  private static func error(_ failure: TransferFailure, _ exchange: Exchange) -> MailError {
    let reason = MailError.printable(failure.reason)
    switch failure.code {
    case CURLE_USE_SSL_FAILED, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
      CURLE_SSL_ISSUER_ERROR, CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL:
      return .misconfigured(reason)
    case CURLE_OPERATION_TIMEDOUT:
      return .tryAgain(code: nil, reason: reason)
    case CURLE_LOGIN_DENIED where exchange.refusal == nil:
      // The client and the relay support no common login mechanism.
      return .misconfigured(reason)
    default: break
    }
    guard let reply = exchange.refusal else { return .tryAgain(code: nil, reason: reason) }
    switch reply.code {
    case ..<500: return .tryAgain(code: reply.code, reason: reply.text)
    // Login required, mechanism too weak, wrong password, or TLS required; or no valid greeting.
    case 530, 534, 535, 538: return .misconfigured("\(reply.code) \(reply.text)")
    case _ where failure.code == CURLE_LOGIN_DENIED || reply.isFirst:
      return .misconfigured("\(reply.code) \(reply.text)")
    default: return .refused(code: reply.code, reply: reply.text)
    }
  }

  // MARK: Callbacks of libcurl

  private static let give: CCurlBytes = { bytes, size, count, context in
    guard let context = unsafe context, let bytes = unsafe bytes else { return 0 }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    let room = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
    let next = exchange.message[exchange.sent...].prefix(room.count)
    unsafe room.copyBytes(from: next)
    exchange.sent += next.count
    return next.count
  }

  private static let hear: CCurlBytes = { bytes, size, count, context in
    guard let context = unsafe context, let bytes = unsafe bytes else { return 0 }
    let exchange = unsafe Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
    let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    exchange.hear(unsafe String(decoding: line, as: UTF8.self))
    return size * count
  }

  /// The state of a message in transfer and the relay's replies, on the thread of the transfer.
  private final class Exchange {
    let message: [UInt8]
    var sent = 0
    /// The last reply of 400 or more, unless a success followed.
    private(set) var refusal: TestResponse?
    private var replies = 0

    init(_ message: [UInt8]) { self.message = message }

    /// Records a line of a reply, `250-text` or `250 text`.
    func hear(_ line: String) {
      guard let code = Int(line.prefix(3)) else { return }
      let text = MailError.printable(String(line.dropFirst(4).prefix { !$0.isNewline }))
      if code < 400 {
        // The reply to QUIT does not affect an earlier refusal.
        if code != 221 { refusal = nil }
      } else if let earlier = refusal, earlier.code == code, !earlier.isWhole {
        refusal?.text = MailError.printable("\(earlier.text) \(text)")
      } else {
        refusal = TestResponse(code: code, text: text, isFirst: replies == 0, isWhole: false)
      }
      if line.dropFirst(3).first != "-" {
        replies += 1
        refusal?.isWhole = true
      }
    }
  }

  /// A reply of the relay.
  private struct TestResponse {
    let code: Int
    var text: String
    /// Whether the reply replaced the greeting.
    let isFirst: Bool
    var isWhole: Bool
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
