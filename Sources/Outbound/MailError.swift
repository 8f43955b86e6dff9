/// Why a message was not handed on.
///
/// Texts are the relay's or libcurl's, in printable ASCII of at most 300 bytes. A relay likes to repeat
/// the recipient's address: they are for an operator's eyes, not for a client's.
package enum MailError: Error, Equatable, CustomStringConvertible {
  /// The operator has not said how mail is sent.
  case notConfigured
  /// The settings do not work, or the relay does not let us in: no TLS where it is required, a
  /// certificate not to be trusted, a wrong password, a folder that cannot be written.
  ///
  /// No fault of the message: it may be kept until the operator has acted.
  case misconfigured(String)
  /// The relay will never take this message: 5xx for its sender, recipient or text.
  case refused(code: Int, reply: String)
  /// The relay may take it later: 4xx (then with the code), no connection, or a time-out.
  ///
  /// After a time-out it may have been taken all the same; sent again it has the same `Message-ID`.
  case tryAgain(code: Int?, reason: String)
  /// The pool is full: nothing was sent.
  case overloaded

  package var description: String {
    switch self {
    case .notConfigured: "the setting mail is empty"
    case .misconfigured(let reason): reason
    case .refused(let code, let reply): "the relay refuses it for good: \(code) \(reply)"
    case .tryAgain(let code?, let reply): "the relay puts it off: \(code) \(reply)"
    case .tryAgain(nil, let reason): reason
    case .overloaded: "too many mails are on their way"
    }
  }

  /// Text of another machine, safe to print.
  static func printable(_ text: String) -> String {
    let scalars = text.unicodeScalars.prefix(300).map { (" "..."~").contains($0) ? $0 : "?" }
    return String(String.UnicodeScalarView(scalars))
  }
}
