import Administration
import Delivery
package import EventLoop
package import Postgres
import Records
package import Runtime
import Outbound
import Tenancy

/// Emails to administrators about webhooks whose receivers fail.
///
/// A row of `webhook_progress` says when the next one is due. The worker that changes that time
/// queues the emails in the same transaction, so exactly one worker sends each.
@EventLoop package enum WebhookNotices {
  /// The kind of the source in the outbox worker.
  package nonisolated static let kind = "webhook_notice"

  /// How long a receiver fails before the first email.
  nonisolated static let patience = Duration.seconds(3_600)
  /// The pause before the next one.
  nonisolated static let pause = Duration.seconds(86_400)
  /// The time after which a worker that has not disabled a webhook counts as dead.
  nonisolated static let doubt = Duration.seconds(60)
  private nonisolated static let page = 100

  /// Queues the emails that are due; returns whether there may be more.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func collect(_ context: RequestContext) async throws(Failure) -> Bool {
    guard context.mailer.isConfigured else { return false }
    let now = Timestamp.now
    let all = try await context.read(WebhookNoticeQueries.due, now, page, on: .exclusive)
    guard !all.isEmpty else { return false }
    var first: Failure?
    for due in all {
      do throws(Failure) { try await send(due, at: now, context) } catch {
        first = first ?? error
      }
    }
    if let first { throw first }
    return all.count == page
  }

  /// Queues the email about a webhook, unless another worker has.
  private static func send(
    _ due: WebhookNotice, at now: Timestamp, _ context: RequestContext
  ) async throws(Failure) {
    let webhook = try await context.read(
      WebhookRecord.table.statements.show, nil, due.webhook, on: .exclusive
    ).first
    guard let webhook, let notice = due.notice(of: webhook, at: now) else {
      // It was deleted, or an operator has disabled it.
      _ = try await context.write(
        WebhookNoticeQueries.claim, due.webhook, due.dueAt, nil, nil)
      return
    }
    guard let mail = notice.mail else { return }
    let app = try await context.apps.app(AppID(trusted: webhook.app))
    let system = Principal(.system, in: app.id, scopes: .everything)
    let context = RequestContext(context.dependencies, app: app, principal: system)
    let readers = try await AdministratorRecord.readers(of: app.id, .admin, context)
    try await context.transaction { transaction async throws(Failure) in
      let claimed = try await transaction.run(
        WebhookNoticeQueries.claim, due.webhook, due.dueAt, notice.next, due.disabledAt)
      guard !claimed.isEmpty else { return }
      for reader in readers { mail.queue(to: reader.email, in: reader.language, transaction) }
    }
  }
}

/// A webhook whose administrators get an email now.
package struct WebhookNotice: RowDecodable {
  let webhook: String
  let dueAt: Timestamp
  let disabledAt: Timestamp?
  let failingSince: Timestamp?
  let error: String

  package init(from row: Row) throws(DatabaseError) {
    (webhook, dueAt) = (try row.text(0), try row.time(1))
    (disabledAt, failingSince) = (try row.time(ifAny: 2), try row.time(ifAny: 3))
    error = row.text(ifAny: 4) ?? ""
  }

  /// Returns the email, and when the next one is due; nil if none is needed any more.
  ///
  /// Without an email, a worker is about to disable the webhook.
  func notice(
    of webhook: Webhook, at now: Timestamp
  ) -> (mail: OperationNotice?, next: Timestamp?)? {
    let failure = OperationNotice.WebhookFailure(
      receiver: ReceiverURL.origin(of: webhook.url), error: error, since: failingSince ?? dueAt)
    if let disabledAt {
      if !webhook.isEnabled { return (.webhookDisabled(failure), nil) }
      let isDead = disabledAt.later(by: WebhookNotices.doubt).microseconds < now.microseconds
      return isDead ? nil : (nil, nil)
    }
    guard webhook.isEnabled else { return nil }
    return (.webhookFails(failure), now.later(by: WebhookNotices.pause))
  }
}

package enum WebhookNoticeQueries {
  /// Returns due rows of all shards.
  ///
  /// Served by `webhook_progress_notice_due`.
  static let due = Statement<WebhookNotice, Timestamp, Int>(
    "webhook_notices.due",
    """
    select webhook_id, notice_due_at, disabled_at, failing_since, last_error from webhook_progress
    where notice_due_at <= $1::timestamptz order by notice_due_at limit $2::bigint
    """)

  /// Plans the first email about failures.
  static let plan = Statement<NoRow, String, Timestamp>(
    "webhook_notices.plan",
    """
    update webhook_progress set notice_due_at = $2::timestamptz
    where webhook_id = $1 and notice_due_at is null and disabled_at is null
      and failing_since is not null
    """)

  /// Plans the email about a webhook that is disabled now, once.
  static let disable = Statement<NoRow, String, Timestamp>(
    "webhook_notices.disable",
    """
    update webhook_progress set notice_due_at = $2::timestamptz, disabled_at = $2::timestamptz
    where webhook_id = $1 and disabled_at is null
    """)

  /// Replaces the time of the next email, if it is still the given one.
  static let claim = Statement<Int, String, Timestamp, Timestamp?, Timestamp?>(
    "webhook_notices.claim",
    """
    update webhook_progress set notice_due_at = $3::timestamptz, disabled_at = $4::timestamptz
    where webhook_id = $1 and notice_due_at = $2::timestamptz returning 1
    """)
}
