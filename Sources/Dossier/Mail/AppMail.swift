import Outbound

/// The words of an app's mail of one kind, as its settings have them.
struct AppMail {
  private let subject: AppSetting
  private let text: AppSetting

  static let confirmation = AppMail(subject: .confirmSubject, text: .confirmText)
  static let reset = AppMail(subject: .resetSubject, text: .resetText)
  /// To the owner of an account, when a way in has changed.
  static let change = AppMail(subject: .changeSubject, text: .changeText)
  /// To who has proved an address that somebody else has named as its own.
  static let taken = AppMail(subject: .takenSubject, text: .takenText)

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
    let settings = app.settings
    let values = values.merging(["email": email, "app": app.name]) { $1 }
    let template = try MailTemplate(
      subject: settings.text(subject),
      text: settings.text(text),
      names: Set(values.keys)
    )
    let sender = MailAddress(settings.text(.mailFrom), name: settings.text(.mailFromName))
    return try template.message(from: sender, to: MailAddress(email), values: values)
  }
}
