package import Runtime
package import Outbound

/// The texts of an app's mail of one kind.
package struct AppMail: Sendable {
  package let subject: String
  package let text: String

  /// Returns the mail to an address.
  ///
  /// - Parameters:
  ///   - kind: the kind of the mail.
  ///   - email: also fills `{{email}}`, spelled out.
  ///   - language: the language of the recipient, a tag of BCP 47; nil if unknown.
  ///   - app: also fills `{{app}}`.
  ///   - values: the values of the other placeholders.
  /// - Returns: the message.
  /// - Throws: `MailTemplateError`, `MailMessageError` if the text or the address cannot be used.
  package static func message(
    _ kind: MailKind,
    to email: String,
    in language: String?,
    _ app: App,
    _ values: [String: String] = [:]
  ) throws -> MailMessage {
    let words = app.mailSettings.texts(of: kind, in: language)
    let template = try MailTemplate(subject: words.subject, text: words.text, names: kind.places)
    let sender = MailAddress(app.mailSettings.sender, name: app.mailSettings.senderName)
    let values = values.merging(["email": inWords(email), "app": app.name]) { $1 }
    return try template.message(from: sender, to: MailAddress(email), values: values)
  }

  /// Returns an address spelled out, such as `ada at example dot com`.
  ///
  /// Mail programs turn text that looks like an address or a host name into links. The user who
  /// requests the mail chooses the address. An attacker could therefore put a link into our text
  /// with `you+evil.example.net@example.com`.
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
