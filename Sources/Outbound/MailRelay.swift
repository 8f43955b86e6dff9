package import EventLoop

/// The destination of Dossier's mail: the operator's SMTP relay, or a folder.
///
/// It neither stores nor repeats messages, and does not limit how many are under way. The caller
/// decides how to handle `.tryAgain`.
@EventLoop package final class MailRelay {
  private let destination: Destination
  /// Connections end with their message, so none is kept.
  private lazy var group = TransferGroup(keeping: 1)

  private enum Destination {
    case none
    case folder(MailFolder)
    case relay(SMTPDelivery)
  }

  /// Checks the settings without a connection.
  ///
  /// - Parameter settings: the operator's settings.
  /// - Throws: `.misconfigured` with the error in the settings.
  package init(_ settings: MailRelaySettings) throws(MailError) {
    destination =
      switch settings.destination {
      case .none: .none
      case .folder(let path): .folder(try MailFolder(path: path))
      case .relay(let relay): .relay(try SMTPDelivery(relay, settings.reach))
      }
  }

  /// Sends a message.
  ///
  /// It returns when the relay has accepted the message, or the file is written. A cancelled task
  /// still waits for that.
  /// - Parameter message: the message.
  /// - Returns: the answer of the relay, in printable ASCII.
  /// - Throws: `MailError`.
  @discardableResult
  package func send(_ message: MailMessage) async throws(MailError) -> String {
    switch destination {
    case .none: throw .notConfigured
    case .folder(let folder):
      if let error = folder.store(message) { throw error }
      return "stored in the folder"
    case .relay(let relay): return try await relay.send(message, in: group)
    }
  }

  /// Checks that the relay would accept a message now: connects, logs in, and names the sender.
  ///
  /// The recipient is the postmaster of the sender's domain, and no message is sent.
  /// - Parameter sender: the sender; nil ends the check after the login.
  /// - Throws: `MailError` with the reason why the relay would accept none.
  package func check(from sender: String? = nil) async throws(MailError) {
    if case .relay(let relay) = destination { try await relay.check(from: sender, in: group) }
  }
}

/// The settings of mail delivery.
package struct MailRelaySettings: Sendable {
  package enum Destination: Sendable {
    /// No destination: every message fails with `.notConfigured`.
    case none
    case relay(SMTPRelay)
    /// The path of an existing folder; each message becomes a file there, see `MailFolder`.
    case folder(String)
  }

  package var destination: Destination
  /// 5 s to connect, 30 s in total: relays that look up the client's name respond slowly.
  package var reach = TransferTimeouts(connectTimeout: .seconds(5), timeout: .seconds(30))

  package init(_ destination: Destination = .none) { self.destination = destination }

  package var isSomewhere: Bool { if case .none = destination { false } else { true } }

  /// The error in the settings; nil if they are valid.
  package var fault: String? {
    do throws(MailError) {
      switch destination {
      case .none: break
      case .folder(let path): _ = try MailFolder(path: path)
      case .relay(let relay): _ = try SMTPDelivery(relay, reach)
      }
      return nil
    } catch {
      return error.description
    }
  }
}

/// An SMTP relay that accepts our mail for any recipient.
package struct SMTPRelay: Sendable {
  package enum StartTLS: Sendable {
    /// Before TLS, only EHLO is sent. The certificate must be trusted.
    case required
    /// Use TLS if the relay offers it, with any certificate, for a relay on the same machine.
    ///
    /// An attacker on the network can remove the offer or replace the certificate, and then reads
    /// everything, including the password. Debian's Postfix has a certificate that it has signed
    /// itself.
    case optional
  }

  /// `smtp://host[:port]` (port 25; submission is 587) or `smtps://host[:port]` (port 465, TLS from
  /// the first byte).
  package var url: String
  /// Applies only to `smtp://`.
  package var startTLS = StartTLS.required
  /// The user name; with it, logs in by the strongest mechanism that the relay offers.
  package var user: String?
  package var password: String?
  /// The name of this client in EHLO: a host name, which should be fully qualified, or an address
  /// literal, such as `[192.0.2.1]`.
  package var clientName: String

  package init(url: String, clientName: String = "[127.0.0.1]") {
    (self.url, self.clientName) = (url, clientName)
  }
}

/// The error of a delivery.
///
/// Texts come from the relay or libcurl, in printable ASCII of at most 300 bytes. Relays often
/// repeat the recipient's address, so the texts are for the operator, not for clients.
package enum MailError: Error, Equatable, CustomStringConvertible {
  /// The operator has not configured mail.
  case notConfigured
  /// The settings do not work, or the relay rejects our connection.
  ///
  /// Examples: missing TLS if it is required, an untrusted certificate, a wrong password, a folder
  /// that is not writable. The message is not at fault: it may be kept until the operator has
  /// acted.
  case misconfigured(String)
  /// The relay permanently rejects this message: 5xx for its sender, recipient or text.
  case refused(code: Int, reply: String)
  /// The relay may accept the message later: 4xx (with the code), no connection, or a time-out.
  ///
  /// After a time-out, the relay may have accepted it anyway. A repeated message has the same
  /// `Message-ID`.
  case tryAgain(code: Int?, reason: String)

  package var description: String {
    switch self {
    case .notConfigured: "the setting mail is empty"
    case .misconfigured(let reason): reason
    case .refused(let code, let reply):
      "the relay rejected the message permanently: \(code) \(reply)"
    case .tryAgain(let code?, let reply): "the relay deferred the message: \(code) \(reply)"
    case .tryAgain(nil, let reason): reason
    }
  }

  /// Returns text of another machine in a form that is safe to print.
  static func printable(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(300).map { (" "..."~").contains($0) ? $0 : "?" }
    return String(String.UnicodeScalarView(scalars))
  }
}
