package import EventLoop
import Outbound
import Postgres

/// Takes what the domain has to say by mail into the queue of the database.
///
/// Whatever belongs to a change is queued in the transaction of that change: neither is there without
/// the other. A `Courier` sends it, here or in another worker.
@EventLoop package final class Mailer {
  package let isConfigured: Bool
  let report: @EventLoop (String) -> Void
  /// Hears that something is in the queue.
  var onQueued: (@EventLoop () -> Void)?
  /// Hears that nobody will get a mail.
  var onLost: (@EventLoop () -> Void)?

  /// - Parameters:
  ///   - isConfigured: whether the operator has said how mail is sent.
  ///   - report: hears, for the operator, of mail that nobody will get.
  package init(isConfigured: Bool, report: @escaping @EventLoop (String) -> Void) {
    self.isConfigured = isConfigured
    self.report = report
  }

  /// Tells the operator of a mail that nobody will get.
  func lose(_ reason: String) {
    report("mail is lost: \(reason)")
    onLost?()
  }
}

extension RequestContext {
  /// Queues a mail in a transaction; it is of use for so long.
  func queue(
    _ message: MailMessage,
    _ kind: MailKind,
    for time: Duration = Outbox.patience,
    in transaction: Transaction
  ) async throws(Failure) {
    guard let call = queuing(message, kind, for: time) else { return }
    try await transaction.run(call)
  }

  /// Queues a mail together with the token that it carries, in one statement.
  func queue(
    _ message: MailMessage,
    with token: MailedToken,
    in transaction: Transaction
  ) async throws(Failure) {
    guard let call = queuing(message, with: token) else { return }
    try await transaction.run(call)
  }

  private func queuing(
    _ message: MailMessage,
    _ kind: MailKind,
    for time: Duration
  ) -> StatementCall? {
    sealed(message).map { mail, sealed in
      StatementCall(OutboxQueries.add, mail.id, app.id, kind.rawValue, sealed, time)
    }
  }

  private func queuing(_ message: MailMessage, with token: MailedToken) -> StatementCall? {
    sealed(message).map { mail, sealed in
      StatementCall(
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

  /// Called after each write: what it has queued can be sent from now on.
  func tellQueued() {
    guard hasQueuedMail else { return }
    hasQueuedMail = false
    mailer.onQueued?()
  }

  /// A mail as it is about to be queued; nil when none is sent.
  private func sealed(_ message: MailMessage) -> (QueuedMail, BinaryBytes)? {
    guard mailer.isConfigured else { return nil }
    let mail = QueuedMail(message)
    do {
      let sealed = try mail.sealed(keys.master)
      hasQueuedMail = true
      return (mail, sealed)
    } catch {
      mailer.lose("\(error)")
      return nil
    }
  }
}
