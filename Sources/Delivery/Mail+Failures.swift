import Outbound
package import Runtime

extension ErrorType {
  package static let mailNotConfigured = ErrorType("mail_not_configured", .unavailable)
    .titled("This deployment does not send email.")
    .remedied("Set the setting mail to a relay or a folder.")

  package static let mailErrors = [mailNotConfigured]
}

extension Failure {
  /// The request needs a mail, but mail delivery is not configured.
  package static let mailNotConfigured = Failure(.mailNotConfigured, retryAfter: .seconds(3_600))
}

extension MailError {
  /// Whether a later attempt may succeed, by itself or after the operator's action.
  var isPassing: Bool {
    switch self {
    case .tryAgain, .misconfigured: true
    case .refused, .notConfigured: false
    }
  }
}
