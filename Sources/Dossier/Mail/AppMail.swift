import Outbound

/// The words of an app's mail of one kind.
struct AppMail: Sendable {
  let subject: String
  let text: String

  /// The mail to an address.
  ///
  /// - Parameters:
  ///   - email: also fills `{{email}}`.
  ///   - app: also fills `{{app}}`.
  ///   - values: of the other placeholders that the words may have.
  /// - Returns: the message.
  /// - Throws: `MailTemplateError`, `MailMessageError`: nobody can be sent this.
  func message(
    to email: String,
    _ app: App,
    _ values: [String: String] = [:]
  ) throws -> MailMessage {
    let values = values.merging(["email": email, "app": app.name]) { $1 }
    let template = try MailTemplate(
      subject: subject,
      text: text,
      names: Set(values.keys)
    )
    let sender = MailAddress(app.settings.mailFrom, name: app.settings.mailFromName)
    return try template.message(from: sender, to: MailAddress(email), values: values)
  }
}
