import Outbound

/// The words of an app's mail of one kind.
struct AppMail: Sendable {
  let subject: String
  let text: String

  /// The mail to an address.
  ///
  /// - Parameters:
  ///   - kind: what it is about.
  ///   - email: also fills `{{email}}`, in words.
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
    let values = values.merging(["email": inWords(email), "app": app.name]) { $1 }
    return try template.message(from: sender, to: MailAddress(email), values: values)
  }

  /// Returns an address as people say it, such as `ada at example dot com`.
  ///
  /// Mail programs make links of text that looks like an address or the name of a host. The user
  /// who asks for mail chooses the address. So an attacker could put a link into our text by
  /// `you+evil.example.net@example.com`.
  static func inWords(_ email: String) -> String {
    email.unicodeScalars.map { scalar in
      switch scalar {
      case "@": " at "
      case ".": " dot "
      case ":", "/": " "
      default: String(scalar)
      }
    }.joined()
  }
}
