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
