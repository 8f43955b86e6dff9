package import Runtime
package import Postgres

package enum OutboxQueries {
  /// - Parameters 6 and 7: the user of the token in the mail, and its hash; null without one.
  /// - Parameter 8: the receiver; null for the relay.
  package static let add = Statement<
    NoRow, MailID, AppID, String, BinaryBytes, Duration, UserID?, BinaryBytes?, String?
  >(
    "outbox.add",
    """
    insert into mail_outbox
      (mail_id, app_id, kind, sealed, expires_at, user_id, token_hash, receiver)
    values ($1, $2, $3, $4, now() + $5::interval, $6, $7, $8)
    """)

  /// Returns due rows of all shards, oldest first; each worker that reads them then claims some.
  ///
  /// Served by `mail_outbox_by_turn`.
  /// - Parameter 2: whether the rows have receivers, or are for the relay.
  /// - Parameters 3 and 4: apps and receivers whose rows are left out.
  static let due = Statement<QueuedRow, Int, Bool, TextArray, TextArray>(
    "outbox.due",
    """
    select mail_id, app_id, receiver, user_id, kind, token_hash from mail_outbox
    where (receiver is not null) = $2 and next_attempt_at <= now() and expires_at > now()
      and app_id <> all ($3::text[]) and (receiver is null or receiver <> all ($4::text[]))
    order by next_attempt_at limit $1::bigint
    """)

  /// Claims a due row for one worker, for longer than its delivery may take.
  ///
  /// Returns no row if it is not due, as after the claim of another worker. If the worker dies, its
  /// claim expires and other workers continue.
  /// - Parameter 2: the last error of a mail without a valid token.
  static let claim = Statement<DueRow, MailID, String>(
    "outbox.claim",
    """
    update mail_outbox set attempts = attempts + 1, next_attempt_at = now() + interval '3 minutes'
    where mail_id = $1 and next_attempt_at <= now() and expires_at > now()
    returning mail_id, sealed, attempts::bigint, app_id, kind,
      last_error is not distinct from $2
    """)

  /// Postpones a mail; null gives it up.
  static let putOff = Statement<NoRow, MailID, Duration?, String>(
    "outbox.put_off",
    """
    update mail_outbox set next_attempt_at = now() + $2::interval, last_error = $3
    where mail_id = $1
    """)

  /// Deletes a request before its mail replaces it; returns its id if it existed.
  package static let takeRequest = Statement<String, MailID>(
    "outbox.take_request",
    "delete from mail_outbox where mail_id = $1 and kind = 'request' returning mail_id"
  )

  static let remove = Statement<NoRow, MailID>(
    "outbox.remove", "delete from mail_outbox where mail_id = $1"
  )

  /// Returns expired rows of all shards.
  ///
  /// Served by `mail_outbox_by_end`.
  static let expired = Statement<String>(
    "outbox.expired", "select mail_id from mail_outbox where expires_at < now() limit 1000"
  )

  /// Deletes an expired row, and returns it, unless another worker has deleted it.
  static let expire = Statement<ExpiredMail, String>(
    "outbox.expire",
    """
    delete from mail_outbox where mail_id = $1 and expires_at < now()
    returning mail_id, kind, attempts::bigint
    """)

  /// Returns the number and age of the oldest 10,000 rows.
  ///
  /// Served by the primary key.
  static let state = Statement<OutboxState>(
    "outbox.state",
    """
    select count(*), coalesce(extract(epoch from now() - min(created_at)
      filter (where next_attempt_at is not null)), 0)::bigint
    from (
      select created_at, next_attempt_at from mail_outbox order by mail_id limit 10000) oldest
    """)

  /// Served by the primary key, whose ids are in the order of creation.
  static let page = Statement<ListedMail, MailID?, Int>(
    "outbox.page",
    """
    select m.mail_id, m.sealed, a.name, m.kind, m.attempts, m.next_attempt_at, m.last_error,
      m.created_at, m.expires_at
    from mail_outbox m join apps a on a.app_id = m.app_id
    where $1::text is null or m.mail_id > $1::text
    order by m.mail_id limit $2
    """)

  /// Returns the ids of the rows of all shards after `$1`.
  static let ids = Statement<MailID, MailID?>(
    "outbox.ids",
    """
    select mail_id from mail_outbox where mail_id > coalesce($1::text, '')
    order by mail_id limit 1000
    """)

  static let retry = Statement<Int, MailID>(
    "outbox.retry", "update mail_outbox set next_attempt_at = now() where mail_id = $1 returning 1"
  )

  static let drop = Statement<Int, MailID>(
    "outbox.drop", "delete from mail_outbox where mail_id = $1 returning 1"
  )

  package static let all: [any PreparedStatement] = [
    add, due, claim, putOff, takeRequest, remove, expired, expire, state, page, ids,
    retry, drop,
  ]
}
