import EventLoop
import JSON
import Localization
import Outbound
package import Runtime

/// Emails with example values, for previews and tests.
extension RequestContext {
  /// Returns an email of a kind with example values, in the texts of the app of the context.
  ///
  /// - Parameters:
  ///   - kind: the kind.
  ///   - email: the recipient.
  ///   - language: the language tag; nil for the languages of the request.
  /// - Returns: the email; nil if the texts of the app make none.
  @EventLoop package func example(
    of kind: MailKind, to email: String, in language: String?
  ) -> QueuedMail? {
    mail(kind, to: email, in: language) { catalog, name in
      switch kind {
      case .token(let purpose):
        let token = "\(purpose.kind.rawValue)example"
        return ["token": token, "link": mailer.pages?.link(for: purpose, token, of: app) ?? token]
      case .code:
        let title = catalog.text(of: CodePurpose.signIn.title, ["app": .name(name)])
        return ["code": "1234 5678", "title": title]
      case .change:
        let links = SecurityNotice.Links(
          security: mailer.pages?.securityLink(of: app), support: mailer.design.support(of: app))
        return SecurityNotice.passwordChanged.values(
          in: catalog, on: catalog.device(nil), name, links)
      case .taken, .unknown, .operation: return [:]
      }
    }
  }

  /// Queues an email of a kind with example values.
  ///
  /// - Throws: `.mailNotConfigured`, `.invalid` if the texts of the app make no email,
  ///   `.databaseUnavailable`.
  @EventLoop package func sendExample(
    of kind: MailKind, to email: String, in language: String?
  ) async throws(Failure) {
    try mailer.requireConfigured()
    guard let mail = example(of: kind, to: email, in: language) else {
      throw .invalid([
        FieldError("/kind", "template", "The texts and the sender of this email make no email.")
      ])
    }
    try await transaction { transaction async throws(Failure) in
      transaction.queue(mail, kind, about: nil)
      Event("mail_test", detail: ["kind": .string(kind.name)]).record(in: transaction)
    }
  }
}

extension MailKind {
  /// Returns the kind with a name; nil for none.
  package init?(named name: String) {
    guard let kind = Self.allCases.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
      return nil
    }
    self = kind
  }
}
