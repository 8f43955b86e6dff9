package import Runtime
package import EventLoop
package import Outbound
import Postgres

/// Puts the domain's mails into the queue in the database.
///
/// A mail about a change is queued in the transaction of that change, so both happen or neither. A
/// `OutboxWorker` sends it, in this worker or in another.
@EventLoop package final class MailQueue: DomainService {
  package let isConfigured: Bool
  /// The pages that the links of mails lead to; nil in a process without one.
  let pages: MailPages?
  package let report: @EventLoop (String) -> Void
  /// Called after a mail has been queued.
  var onQueued: (@EventLoop () -> Void)?
  /// Called when a mail is lost.
  var onLost: (@EventLoop () -> Void)?

  /// - Parameters:
  ///   - isConfigured: whether the operator has configured mail delivery.
  ///   - pages: the pages of this deployment that the links of mails lead to.
  ///   - report: receives reports of lost mail for the operator.
  package init(
    isConfigured: Bool,
    pages: MailPages? = nil,
    report: @escaping @EventLoop (String) -> Void
  ) {
    self.isConfigured = isConfigured
    self.pages = pages
    self.report = report
  }

  /// Reports a lost mail to the operator.
  package func lose(_ reason: String) {
    report("mail is lost: \(reason)")
    onLost?()
  }
}

extension RequestContext {
  /// Queues a mail in a transaction; it expires after that time.
  package func queue(
    _ message: MailMessage,
    _ kind: MailKind,
    for time: Duration = Outbox.patience,
    in transaction: Transaction
  ) async throws(Failure) {
    guard let call = queuing(message, kind, for: time) else { return }
    try await transaction.run(call)
  }

  /// Queues a mail together with its token, in one statement.
  package func queue(
    _ message: MailMessage,
    with token: EmailToken,
    in transaction: Transaction
  ) async throws(Failure) {
    guard let call = queuing(message, with: token) else { return }
    try await transaction.run(call)
  }

  private func queuing(
    _ message: MailMessage,
    _ kind: MailKind,
    for time: Duration
  ) -> PendingQuery? {
    sealed(message).map { mail, sealed in
      PendingQuery(OutboxQueries.add, mail.id, app.id, kind.rawValue, sealed, time)
    }
  }

  private func queuing(_ message: MailMessage, with token: EmailToken) -> PendingQuery? {
    sealed(message).map { mail, sealed in
      PendingQuery(
        MailTokenQueries.write,
        token.user,
        token.purpose.rawValue,
        token.hash,
        token.email,
        token.lifetime,
        mail.id,
        app.id,
        sealed
      )
    }
  }

  /// Wakes the delivery after the current write.
  package func wakeDelivery() { afterWrite = mailer.onQueued }

  /// Returns a mail ready for the queue; nil if mail is not configured or cannot be sealed.
  private func sealed(_ message: MailMessage) -> (QueuedMail, BinaryBytes)? {
    guard mailer.isConfigured else { return nil }
    let mail = QueuedMail(message)
    do {
      let sealed = try mail.sealed(keys.master)
      wakeDelivery()
      return (mail, sealed)
    } catch {
      mailer.lose("\(error)")
      return nil
    }
  }
}

extension RequestContext {
  package var mailer: MailQueue { dependencies[MailQueue.self] }
}
