import DomainNames
import Encoding
import EventLoop
import Glibc
import Outbound
package import Runtime

/// The texts of an app's mail of one kind.
struct AppMail {
  let subject: String
  let text: String
  /// The default texts in the language of the text, or in the language of the app.
  let catalog: any MailCatalog
  /// The language tag of the text.
  let language: String

  /// The time as `2026-04-30 12:00 UTC`.
  static var timeOfNow: String {
    let now = CalendarTime(seconds: time(nil), nanoseconds: 0).text
    return "\(now.prefix(10)) \(now.dropFirst(11).prefix(5)) UTC"
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

extension RequestContext {
  /// Returns a mail with a code.
  @EventLoop package func mail(
    withCode code: String, for purpose: CodePurpose, to email: String, in language: String?
  ) -> QueuedMail? {
    mail(.code, to: email, in: language) { catalog, app in
      ["code": code, "title": catalog.title(of: purpose, app)]
    }
  }

  /// Returns a mail of a kind without a secret.
  @EventLoop package func mail(
    _ kind: MailKind, to email: String, in language: String?
  ) -> QueuedMail? {
    mail(kind, to: email, in: language) { _, _ in [:] }
  }

  /// Returns a mail of the app; reports one that cannot be composed, and returns nil.
  ///
  /// - Parameters:
  ///   - kind: the kind of the mail.
  ///   - email: also fills `{{email}}`, spelled out, with the domain in the form that people read.
  ///   - language: the language of the recipient, a tag of BCP 47; nil for the languages
  ///     of the request.
  ///   - values: returns the values of the other placeholders for a language and the app's name.
  /// - Returns: the mail.
  @EventLoop func mail(
    _ kind: MailKind, to email: String, in language: String?,
    _ values: (any MailCatalog, String) -> [String: String]
  ) -> QueuedMail? {
    let settings = app.mailSettings
    let name = mailer.design.name(of: app)
    let words = settings.texts(
      of: kind, in: language.map { [$0] } ?? languages, fallback: mailer.design.language(of: app)
    )
    let own = values(words.catalog, name)
    do {
      let template = try MailTemplate(subject: words.subject, text: words.text, names: kind.places)
      let sender = MailAddress(
        settings.sender, name: settings.senderName.isEmpty ? name : settings.senderName
      )
      let message = try template.message(
        from: sender,
        to: MailAddress(email),
        values: own.merging([
          "email": AppMail.inWords(DomainName.shown(inAddress: email)), "app": name,
          "time": AppMail.timeOfNow,
          "device": words.catalog.device(agent.map(BrowserName.init)),
        ]) { $1 }
      )
      var label: String?
      if case .token(let purpose) = kind { label = words.catalog.label(of: purpose) }
      return QueuedMail(
        message, language: words.language, secret: own["code"] ?? own["token"], label: label
      )
    } catch {
      mailer.abandon("\(kind.name): \(error)")
      return nil
    }
  }
}
