import Encoding
import EventLoop
import Localization
package import Runtime

/// A notice to administrators: something that they look after needs them.
///
/// It is a mail of the app that needs them, with its sender and texts, in their own language.
package enum OperationNotice: Sendable {
  /// The receiver of a webhook has failed for an hour or longer.
  case webhookFails(WebhookFailure)
  /// A worker has disabled a webhook.
  case webhookDisabled(WebhookFailure)

  package struct WebhookFailure: Sendable {
    /// The scheme, host and port of the receiver: paths may contain secrets.
    let receiver: String
    /// The last failure.
    let error: String
    let since: Timestamp

    package init(receiver: String, error: String, since: Timestamp) {
      (self.receiver, self.error, self.since) = (receiver, error, since)
    }
  }

  private var texts: (title: MessageKey, text: MessageKey, advice: MessageKey) {
    switch self {
    case .webhookFails: (.webhookFailsNoticeTitle, .webhookFailsNotice, .webhookFailsAdvice)
    case .webhookDisabled:
      (.webhookDisabledNoticeTitle, .webhookDisabledNotice, .webhookDisabledAdvice)
    }
  }

  /// Returns the values of the mail in a language.
  ///
  /// - Parameters:
  ///   - catalog: the texts of the language.
  ///   - app: the name of the app.
  /// - Returns: the title, the text and the advice by placeholder.
  func values(in catalog: Catalog, _ app: String) -> [String: String] {
    let failure =
      switch self {
      case .webhookFails(let failure), .webhookDisabled(let failure): failure
      }
    let since = CalendarTime(seconds: failure.since.seconds, nanoseconds: 0)
    let arguments: [String: Text.Argument] = [
      "app": .name(app), "receiver": .name(failure.receiver), "reason": .name(failure.error),
      "time": .name(catalog.text(of: since)),
    ]
    return [
      "title": catalog.text(of: texts.title, arguments),
      "change": catalog.text(of: texts.text, arguments),
      "advice": catalog.text(of: texts.advice, arguments),
    ]
  }

  /// Queues the mail to an administrator.
  ///
  /// - Parameters:
  ///   - email: the address.
  ///   - language: the language of the administrator; nil for the first one of the app.
  ///   - transaction: a transaction in the app.
  @EventLoop package func queue(
    to email: String, in language: String?, _ transaction: Transaction
  ) {
    let mail = transaction.context.mail(.operation, to: email, in: language) { values(in: $0, $1) }
    transaction.queue(mail, .operation, about: nil)
  }
}
