package import Postgres
import Records
package import Runtime

/// The work of a worker for a webhook.
package struct WebhookWork: RowDecodable {
  let webhook: String
  let position: Int
  /// Whether a delivery may be sent now.
  let isDue: Bool

  package init(from row: Row) throws(DatabaseError) {
    (webhook, position, isDue) = (try row.text(0), try row.int(1), try row.bool(2))
  }
}

/// The locked progress of a webhook.
package struct WebhookProgress: RowDecodable {
  let position: Int
  let lastDelivery: Int
  let failures: Int
  let notBefore: Timestamp?

  package init(from row: Row) throws(DatabaseError) {
    (position, lastDelivery, failures) = (try row.int(0), try row.int(1), try row.int(2))
    notBefore = try row.time(ifAny: 3)
  }
}

/// A delivery that may be sent.
package struct DueDelivery: RowDecodable {
  let id: String
  let user: String

  package init(from row: Row) throws(DatabaseError) {
    (id, user) = (try row.text(0), try row.text(1))
  }
}

/// A delivery that this worker has claimed.
package struct ClaimedDelivery: RowDecodable {
  let id: String
  let event: String
  let type: String
  let at: Timestamp
  let data: [UInt8]
  let attempts: Int

  package init(from row: Row) throws(DatabaseError) {
    (id, event, type) = (try row.text(0), try row.text(1), try row.text(2))
    (at, data, attempts) = (try row.time(3), try row.bytes(4), try row.int(5))
  }
}

/// The failures of a webhook in a row.
package struct WebhookFailures: RowDecodable {
  let count: Int
  let since: Timestamp
  /// When administrators get an email; nil if none is planned.
  let noticeDueAt: Timestamp?

  package init(from row: Row) throws(DatabaseError) {
    (count, since) = (try row.int(0), try row.time(1))
    noticeDueAt = try row.time(ifAny: 2)
  }
}

package enum WebhookQueries {
  // MARK: A pass

  /// Returns what there is to do for some webhooks, of all shards.
  ///
  /// Served by the primary key and `webhook_deliveries_due`.
  package static let work = Statement<WebhookWork, TextArray, Timestamp>(
    "webhooks.work",
    """
    select p.webhook_id, p.position, (p.not_before is null or p.not_before <= $2::timestamptz)
      and exists (
        select d.delivery_id from webhook_deliveries d
        where d.webhook_id = p.webhook_id and d.state = 'waiting' and d.due_at <= $2::timestamptz)
    from webhook_progress p where p.webhook_id = any ($1::text[])
    """)

  /// Returns the positions of some webhooks, and the times of their oldest waiting events, of all
  /// shards.
  ///
  /// Served by the primary key and `webhook_deliveries_by_state`.
  package static let lags = Statement<WebhookLag, TextArray>(
    "webhooks.lags",
    """
    select p.webhook_id, p.position, (
      select d.at from webhook_deliveries d
      where d.webhook_id = p.webhook_id and d.state = 'waiting' order by d.delivery_id limit 1)
    from webhook_progress p where p.webhook_id = any ($1::text[])
    """)

  package static let begin = Statement<NoRow, String, Int>(
    "webhooks.begin",
    """
    insert into webhook_progress (webhook_id, position) values ($1, $2) on conflict do nothing
    """)

  /// Locks the progress of a webhook, so that workers add and claim its deliveries one after the other.
  package static let lock = Statement<WebhookProgress, String>(
    "webhooks.lock_progress",
    """
    select position, last_delivery, failures, not_before from webhook_progress
    where webhook_id = $1 for update
    """)

  package static let add = Statement<
    NoRow, String, String, String, String, String, Timestamp, TextBytes, Timestamp
  >(
    "webhooks.add_delivery",
    """
    insert into webhook_deliveries (webhook_id, delivery_id, event_id, user_id, type, at, data,
      due_at)
    values ($1, $2, $3, $4, $5, $6::timestamptz, $7::jsonb, $8::timestamptz)
    """)

  package static let advance = Statement<NoRow, String, Int, Int>(
    "webhooks.advance",
    """
    update webhook_progress set position = $2::bigint, last_delivery = $3::bigint
    where webhook_id = $1
    """)

  // MARK: Claims

  /// Counts the attempts under way.
  ///
  /// Served by `webhook_deliveries_claimed`.
  package static let underWay = Statement<Int, String, Timestamp>(
    "webhooks.under_way",
    """
    select count(*) from webhook_deliveries
    where webhook_id = $1 and claimed_until is not null and claimed_until > $2::timestamptz
    """)

  /// Returns deliveries that may be sent: the first of each user, if it is due.
  ///
  /// It looks at one row of each user, from a user on, until it has enough. So one user's backlog costs
  /// nothing. Served by `webhook_deliveries_of_user`.
  package static let due = Statement<DueDelivery, String, Timestamp, Int, String>(
    "webhooks.due",
    """
    with recursive firsts as (
      (select d.user_id, d.delivery_id, d.due_at from webhook_deliveries d
      where d.webhook_id = $1 and d.state = 'waiting' and d.user_id >= $4
      order by d.user_id, d.delivery_id limit 1)
      union all
      select n.user_id, n.delivery_id, n.due_at from firsts f cross join lateral (
        select d.user_id, d.delivery_id, d.due_at from webhook_deliveries d
        where d.webhook_id = $1 and d.state = 'waiting' and d.user_id > f.user_id
        order by d.user_id, d.delivery_id limit 1) n
    )
    select delivery_id, user_id from firsts where due_at <= $2::timestamptz limit $3::bigint
    """)

  package static let claim = Statement<ClaimedDelivery, String, String, Timestamp, Timestamp>(
    "webhooks.claim",
    """
    update webhook_deliveries set attempts = attempts + 1, attempted_at = $3::timestamptz,
      claimed_until = $4::timestamptz, due_at = $4::timestamptz
    where webhook_id = $1 and delivery_id = $2 and state = 'waiting' and due_at <= $3::timestamptz
    returning delivery_id, event_id, type, at, data::text, attempts
    """)

  /// Lets no attempt begin before a time.
  package static let hold = Statement<NoRow, String, Timestamp>(
    "webhooks.hold",
    """
    update webhook_progress set not_before = greatest(not_before, $2::timestamptz)
    where webhook_id = $1
    """)

  // MARK: Results

  /// Records the result of an attempt, unless another attempt has begun.
  package static let record = Statement<
    NoRow, String, String, Int, String, Timestamp, Timestamp?, Int?, String?, String?, Int
  >(
    "webhooks.record",
    """
    update webhook_deliveries set state = $4, due_at = $5::timestamptz, claimed_until = null,
      ended_at = $6::timestamptz, status = $7::integer, error = $8, answer = $9,
      duration_ms = $10::integer
    where webhook_id = $1 and delivery_id = $2 and state = 'waiting' and attempts = $3::integer
    """)

  /// Records a success, at most each minute if there was no failure.
  ///
  /// `$4` is the failures in a row of a failing receiver.
  /// A pause that the receiver has asked for stays; that of a failing one ends. So does the email about
  /// failures, but not the one about a webhook that was disabled meanwhile.
  package static let succeed = Statement<NoRow, String, Timestamp, Timestamp, Int>(
    "webhooks.succeed",
    """
    update webhook_progress set failures = 0, failing_since = null,
      not_before = case when failures >= $4::integer then null else not_before end,
      notice_due_at = case when disabled_at is not null then notice_due_at end,
      last_success_at = $2::timestamptz
    where webhook_id = $1
      and (failures > 0 or last_success_at is null or last_success_at < $3::timestamptz)
    """)

  package static let fail = Statement<WebhookFailures, String, Timestamp, String>(
    "webhooks.fail",
    """
    update webhook_progress set failures = failures + 1,
      failing_since = coalesce(failing_since, $2::timestamptz),
      last_failure_at = $2::timestamptz, last_error = $3
    where webhook_id = $1 returning failures, failing_since, notice_due_at
    """)

  package static let revive = Statement<NoRow, String>(
    "webhooks.revive",
    """
    update webhook_progress set failures = 0, failing_since = null, not_before = null,
      notice_due_at = null, disabled_at = null
    where webhook_id = $1
    """)

  // MARK: Operators

  package static let setSecret = Statement<NoRow, String, BinaryBytes>(
    "webhooks.set_secret",
    "update webhooks set secret = $2, version = version + 1 where webhook_id = $1")

  /// Served by the primary key and `webhook_deliveries_by_state`.
  package static let status = Statement<WebhookStatus, String>(
    "webhooks.status",
    """
    select p.position, p.failures, p.failing_since, p.not_before, p.last_success_at,
      p.last_failure_at, p.last_error,
      (select d.at from webhook_deliveries d where d.webhook_id = $1 and d.state = 'waiting'
        order by d.delivery_id limit 1),
      (select count(*) from (
        select d.delivery_id from webhook_deliveries d
        where d.webhook_id = $1 and d.state = 'waiting' limit 10000) w)
    from webhook_progress p where p.webhook_id = $1
    """)

  private static let columns: SQL = """
    delivery_id, event_id, type, at, state, attempts,
      case when state = 'waiting' then due_at end, attempted_at, ended_at, status, duration_ms,
      error, answer
    """

  /// Returns a page of deliveries, the newest first.
  package static let page = Statement<ListedDelivery, String, DeliveryID?, Int>(
    "webhooks.deliveries",
    """
    select \(columns) from webhook_deliveries
    where webhook_id = $1 and ($2::text is null or delivery_id < $2)
    order by delivery_id desc limit $3::bigint
    """)

  /// Returns a page of deliveries in a state, the newest first.
  ///
  /// Served by `webhook_deliveries_by_state`.
  package static let pageOfState = Statement<ListedDelivery, String, String, DeliveryID?, Int>(
    "webhooks.deliveries_of_state",
    """
    select \(columns) from webhook_deliveries
    where webhook_id = $1 and state = $2 and ($3::text is null or delivery_id < $3)
    order by delivery_id desc limit $4::bigint
    """)

  /// Makes a delivery due, also one that was delivered; leaves an attempt under way alone.
  package static let retry = Statement<ListedDelivery, String, DeliveryID, Timestamp>(
    "webhooks.retry",
    """
    update webhook_deliveries set state = 'waiting', ended_at = null,
      attempts = case when claimed_until is null then 0 else attempts end,
      due_at = case when claimed_until is null then $3::timestamptz else due_at end
    where webhook_id = $1 and delivery_id = $2 returning \(columns)
    """)

  // MARK: Maintenance

  package static let all = Statement<String>("webhooks.all", "select webhook_id from webhooks")

  /// Returns the webhooks with progress, of all shards.
  package static let known = Statement<String>(
    "webhooks.known", "select webhook_id from webhook_progress order by webhook_id")

  /// Removes deliveries of a webhook that ended before a time: a thousand at once.
  ///
  /// Served by `webhook_deliveries_ended`.
  package static let removeEnded = Statement<Int, String, String, Timestamp>(
    "webhooks.remove_ended",
    """
    delete from webhook_deliveries
    where webhook_id = $1 and delivery_id in (
      select d.delivery_id from webhook_deliveries d
      where d.webhook_id = $1 and d.state = $2 and d.ended_at < $3::timestamptz
      order by d.ended_at limit 1000)
    returning 1
    """)

  /// Removes deliveries of a webhook that wait since a time: a thousand at once.
  ///
  /// Served by `webhook_deliveries_due`.
  package static let removeWaiting = Statement<Int, String, Timestamp>(
    "webhooks.remove_waiting",
    """
    delete from webhook_deliveries
    where webhook_id = $1 and delivery_id in (
      select d.delivery_id from webhook_deliveries d
      where d.webhook_id = $1 and d.state = 'waiting' and d.due_at < $2::timestamptz
      order by d.due_at limit 1000)
    returning 1
    """)

  package static let removeProgress = Statement<NoRow, String>(
    "webhooks.remove_progress", "delete from webhook_progress where webhook_id = $1")
}
