extension ErrorType {
  package static let mailNotConfigured = ErrorType("mail_not_configured", .unavailable)
    .titled("This deployment does not send mail.")
    .remedied("Set the setting mail to a relay or a folder.")

  package static let mailErrors = [mailNotConfigured]
}

extension Failure {
  static let mailNotConfigured = Failure(.mailNotConfigured, retryAfter: .seconds(3_600))
}
