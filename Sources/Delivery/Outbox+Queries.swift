package import Runtime
package import Postgres

package enum OutboxQueries {
  package static let add = Statement<NoRow, MailID, AppID, String, BinaryBytes, Duration>(
    "outbox.add",
    """
    insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at)
    values ($1, $2, $3, $4, now() + $5::interval)
    """
  )

  /// Queues a mail with the token of a user.
  static let addWithToken = Statement<
    NoRow, MailID, AppID, String, BinaryBytes, Duration, UserID, BinaryBytes
  >(
    "outbox.add_with_token",
    """
    insert into mail_outbox (mail_id, app_id, kind, sealed, expires_at, user_id, token_hash)
    values ($1, $2, $3, $4, now() + $5::interval, $6, $7)
    """
  )

  /// Claims due mails for one worker, for longer than all of them may take.
  ///
  /// If the worker dies, its claims expire and other workers continue. Served by `mail_outbox_by_turn`.
  static let claim = Statement<DueRow, Int>(
    "outbox.claim",
    """
    update mail_outbox m set attempts = m.attempts + 1, next_attempt_at = now() + interval '3 minutes'
    where m.mail_id = any (array(
      select mail_id::text from mail_outbox where next_attempt_at <= now() and expires_at > now()
      order by next_attempt_at limit $1 for update skip locked))
    returning m.mail_id, m.sealed, m.attempts::bigint, m.app_id, m.kind,
      m.token_hash is not null and (
        select t.expires_at > now() from mail_tokens t where t.user_id = m.user_id
          and t.purpose = m.kind and t.token_hash = m.token_hash) is not true
    """
  )

  /// Deletes a mail that the relay has accepted, and older tokens of its purpose except two.
  ///
  /// Two stay, so that a stranger's request does not invalidate the link that the owner has just got.
  /// Not earlier: until the mail arrives, its recipient has only the older tokens. Restore tokens
  /// stay, so that a second change of address does not invalidate the first owner's.
  static let sent = Statement<NoRow, MailID>(
    "outbox.sent",
    """
    with sent as (
      delete from mail_outbox where mail_id = $1 returning user_id, kind, token_hash
    )
    delete from mail_tokens old using mail_tokens new, sent
    where new.user_id = sent.user_id and new.purpose = sent.kind and new.token_hash = sent.token_hash
      and old.user_id = sent.user_id and old.purpose = sent.kind and old.expires_at < new.expires_at
      and old.purpose <> 'restore' and 3 <= (
        select count(*) from mail_tokens t
        where t.user_id = sent.user_id and t.purpose = sent.kind
          and t.expires_at > old.expires_at and t.expires_at <= new.expires_at)
    """
  )

  /// Postpones a mail; null gives it up.
  static let putOff = Statement<NoRow, MailID, Duration?, String>(
    "outbox.put_off",
    """
    update mail_outbox set next_attempt_at = now() + $2::interval, last_error = $3
    where mail_id = $1
    """
  )

  /// Deletes a request before its mail replaces it; returns its id if it existed.
  package static let takeRequest = Statement<String, MailID>(
    "outbox.take_request",
    "delete from mail_outbox where mail_id = $1 and kind = 'request' returning mail_id"
  )

  static let remove = Statement<NoRow, MailID>(
    "outbox.remove",
    "delete from mail_outbox where mail_id = $1"
  )

  /// Deletes expired rows, and returns one row for each undelivered mail, for the report.
  ///
  /// Served by `mail_outbox_by_end`.
  static let expire = Statement<String>(
    "outbox.expire",
    """
    with gone as (
      delete from mail_outbox where mail_id = any (array(
        select mail_id::text from mail_outbox where expires_at < now() limit 1000 for update skip locked))
      returning mail_id, kind, attempts
    )
    select kind || ' ' || mail_id || ', after ' || attempts || ' attempts' from gone
    """
  )

  static let state = Statement<OutboxState>(
    "outbox.state",
    """
    select count(*), coalesce(extract(epoch from now() - min(created_at)
      filter (where next_attempt_at is not null)), 0)::bigint
    from mail_outbox
    """
  )

  /// Served by the primary key, whose ids are in the order of creation.
  static let page = Statement<ListedMail, MailID?, Int>(
    "outbox.page",
    """
    select m.mail_id, m.sealed, a.name, m.kind, m.attempts, m.next_attempt_at, m.last_error,
      m.created_at, m.expires_at
    from mail_outbox m join apps a using (app_id)
    where $1::text is null or m.mail_id > $1::text
    order by m.mail_id limit $2
    """
  )

  static let retry = Statement<Int, MailID?>(
    "outbox.retry",
    """
    with due as (
      update mail_outbox set next_attempt_at = now() where $1::text is null or mail_id = $1 returning 1
    )
    select count(*) from due
    """
  )

  static let drop = Statement<Int, MailID?>(
    "outbox.drop",
    """
    with dropped as (delete from mail_outbox where mail_id = $1 returning 1)
    select count(*) from dropped
    """
  )

  package static let all: [any PreparedStatement] = [
    add, addWithToken, claim, sent, putOff, takeRequest, remove, expire, state, page, retry, drop,
  ]
}
