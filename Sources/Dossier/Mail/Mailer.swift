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

  /// - Parameters:
  ///   - isConfigured: whether the operator has said how mail is sent.
  ///   - report: hears, for the operator, of mail that nobody will get.
  package init(isConfigured: Bool, report: @escaping @EventLoop (String) -> Void) {
    self.isConfigured = isConfigured
    self.report = report
  }

  /// Tells the operator of a mail that nobody will get.
  func lose(_ reason: String) { report("mail is lost: \(reason)") }
}

extension Store {
  /// Queues a mail in a transaction; it is of use for so long.
  func queue(
    _ message: MailMessage,
    _ kind: MailKind,
    of app: AppID,
    for time: Duration = Outbox.patience,
    in transaction: Transaction
  ) async throws(DatabaseError) {
    guard mailer.isConfigured, let (mail, sealed) = sealed(message) else { return }
    hasQueuedMail = true
    let statement = OutboxQueries.add
    _ = try await transaction.run(statement, mail.id, app, kind.rawValue, sealed, time)
  }

  /// Queues a mail that belongs to nothing else.
  func queue(
    _ message: MailMessage,
    _ kind: MailKind,
    of app: AppID
  ) async throws(Failure) {
    guard mailer.isConfigured, let (mail, sealed) = sealed(message) else { return }
    hasQueuedMail = true
    _ = try await write(OutboxQueries.add, mail.id, app, kind.rawValue, sealed, Outbox.patience)
  }

  /// Queues a mail together with the token that it carries, in one statement.
  func queue(_ message: MailMessage, with token: MailedToken) async throws(Failure) {
    guard mailer.isConfigured, let (mail, sealed) = sealed(message) else { return }
    hasQueuedMail = true
    _ = try await write(
      MailTokenQueries.write,
      token.user,
      token.purpose.rawValue,
      token.hash,
      token.email,
      token.lifetime,
      mail.id,
      token.app,
      sealed
    )
  }

  /// As the other, in a transaction.
  func queue(
    _ message: MailMessage,
    with token: MailedToken,
    in transaction: Transaction
  ) async throws(DatabaseError) {
    guard mailer.isConfigured, let (mail, sealed) = sealed(message) else { return }
    hasQueuedMail = true
    _ = try await transaction.run(
      MailTokenQueries.write,
      token.user,
      token.purpose.rawValue,
      token.hash,
      token.email,
      token.lifetime,
      mail.id,
      token.app,
      sealed
    )
  }

  /// Called after each write: what it has queued can be sent from now on.
  func tellQueued() {
    guard hasQueuedMail else { return }
    hasQueuedMail = false
    mailer.onQueued?()
  }

  private func sealed(_ message: MailMessage) -> (QueuedMail, BinaryBytes)? {
    let mail = QueuedMail(message)
    do {
      return (mail, try mail.sealed(keys.master))
    } catch {
      mailer.lose("\(error)")
      return nil
    }
  }
}
