package import Runtime
package import EventLoop
package import JSON
import Postgres

/// Puts the domain's mails into the queue in the database.
///
/// A mail about a change is queued in the transaction of that change, so both happen or neither. A
/// `OutboxWorker` sends it, in this worker or in another.
@EventLoop package final class MailQueue: DomainService {
  package let isConfigured: Bool
  /// The pages that the links of mails lead to; nil in a process without one.
  package let pages: MailPages?
  /// The look of the mails.
  let design: any MailDesign
  package let report: @EventLoop (String) -> Void
  /// Receives each row that this worker has queued, after the commit.
  var onQueued: (@EventLoop (QueuedRow) -> Void)?
  /// Called when a mail is abandoned.
  var onAbandoned: (@EventLoop () -> Void)?

  /// - Parameters:
  ///   - isConfigured: whether the operator has configured mail delivery.
  ///   - pages: the pages of this deployment that the links of mails lead to.
  ///   - design: the look of the mails.
  ///   - report: receives reports of lost mail for the operator.
  package init(
    isConfigured: Bool, pages: MailPages? = nil, design: any MailDesign,
    report: @escaping @EventLoop (String) -> Void
  ) {
    self.isConfigured = isConfigured
    self.pages = pages
    self.design = design
    self.report = report
  }

  /// Returns the name of an app, as its users know it.
  package func name(of app: App) -> String { design.name(of: app) }

  /// Throws `.mailNotConfigured` if this deployment sends no mail.
  package func requireConfigured() throws(Failure) {
    guard isConfigured else { throw .mailNotConfigured }
  }

  /// Reports an abandoned mail to the operator.
  package func abandon(_ reason: String) {
    report("mail is abandoned: \(reason)")
    onAbandoned?()
  }
}

extension Transaction {
  /// Queues a mail.
  ///
  /// - Parameters:
  ///   - mail: the mail; nil for one that could not be composed.
  ///   - kind: the kind of the mail.
  ///   - user: the user whom it concerns; nil if none is known.
  ///   - time: the time after which it expires.
  package func queue(
    _ mail: QueuedMail?, _ kind: MailKind, about user: UserID?, for time: Duration = Outbox.patience
  ) {
    guard let mail, let sealed = context.sealed(mail) else { return }
    queue(QueuedRow(mail.id, of: app.id, about: user), kind.name, sealed, for: time)
  }

  /// Queues a mail together with its token; the mail expires with the token.
  func queue(_ mail: QueuedMail?, with token: EmailToken) {
    guard let mail, let sealed = context.sealed(mail) else { return }
    token.store(.init(for: token.lifetime, verifies: true, resultURL: nil), in: self)
    let purpose = token.purpose.rawValue
    let mailed = QueuedRow.MailedToken(user: token.user, purpose: purpose, hash: token.hash)
    queue(QueuedRow(mail.id, of: app.id, mailed), purpose, sealed, for: token.lifetime)
  }

  /// Queues a row of a kind of its own, which is encrypted.
  ///
  /// - Parameters:
  ///   - content: the content for the handler of the kind.
  ///   - kind: the kind.
  ///   - receiver: the id of the receiver; nil for a row that becomes a mail. Its rows wait for no
  ///     row of another receiver.
  ///   - app: the app.
  ///   - time: how long delivery is attempted.
  /// - Throws: `.internalError`.
  package func queue(
    _ content: JSON, _ kind: String, to receiver: String? = nil, of app: AppID, for time: Duration
  ) throws(Failure) {
    let id = MailID()
    let name = QueuedMail.name(id)
    let sealed = BinaryBytes(try context.keys.master.sealed(content.serialized(), as: name))
    queue(QueuedRow(id, of: app, to: receiver), kind, sealed, for: time)
  }

  /// Queues a row, and lets this worker deliver it.
  private func queue(_ row: QueuedRow, _ kind: String, _ sealed: BinaryBytes, for time: Duration) {
    let (hash, add) = (row.token?.hash, OutboxQueries.add)
    _ = send(add, row.id, row.app, kind, sealed, time, row.user, hash, row.receiver)
    context.deliver(row)
  }
}

extension RequestContext {
  /// Lets this worker deliver a row after the current write, so that it need not search for it.
  ///
  /// If the write is undone, the worker finds no row to claim.
  package func deliver(_ row: QueuedRow) {
    afterWrite = { [earlier = afterWrite, mailer] in
      earlier?()
      mailer.onQueued?(row)
    }
  }

  /// Encrypts a mail for the queue; returns nil if mail is not configured or that fails.
  fileprivate func sealed(_ mail: QueuedMail) -> BinaryBytes? {
    guard mailer.isConfigured else { return nil }
    do {
      return try mail.sealed(keys.master)
    } catch {
      mailer.abandon("\(error)")
      return nil
    }
  }
}

extension RequestContext {
  package var mailer: MailQueue { dependencies[MailQueue.self] }
}
