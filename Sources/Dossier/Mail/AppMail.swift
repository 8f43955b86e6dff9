import Outbound

/// The words of an app's mail of one kind.
struct AppMail: Sendable {
  let subject: String
  let text: String

  /// The mail to an address.
  ///
  /// - Parameters:
  ///   - kind: what it is about.
  ///   - email: also fills `{{email}}`.
  ///   - language: of its reader, a tag by BCP 47; nil when it is not known.
  ///   - app: also fills `{{app}}`.
  ///   - values: of the other placeholders that the words may have.
  /// - Returns: the message.
  /// - Throws: `MailTemplateError`, `MailMessageError`: nobody can be sent this.
  static func message(
    _ kind: MailKind,
    to email: String,
    in language: String?,
    _ app: App,
    _ values: [String: String] = [:]
  ) throws -> MailMessage {
    let words = app.settings.words(of: kind, in: language)
    let template = try MailTemplate(subject: words.subject, text: words.text, names: kind.places)
    let sender = MailAddress(app.settings.mailFrom, name: app.settings.mailFromName)
    let values = values.merging(["email": email, "app": app.name]) { $1 }
    return try template.message(from: sender, to: MailAddress(email), values: values)
  }
}
