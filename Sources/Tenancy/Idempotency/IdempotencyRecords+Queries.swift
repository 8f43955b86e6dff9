import Runtime
package import Postgres

/// A stored response; it is nil while the request is in progress.
struct KeptAnswerRow: RowDecodable {
  let request: [UInt8]
  let answer: [UInt8]?
  /// Whether the request takes longer than any request does.
  let isLost: Bool

  init(from row: Row) throws(DatabaseError) {
    request = try row.binary(0)
    answer = try row.binary(ifAny: 1)
    isLost = try row.bool(2)
  }
}

package enum IdempotencyQueries {
  /// Returns the number of keys of an owner with hashes in a range, up to a limit.
  static let count = Statement<Int, AppID, String, BinaryBytes, BinaryBytes, Int>(
    "idempotency_keys.count",
    """
    select count(*) from (
      select 1 from idempotency_keys
      where app_id = $1 and owner = $2 and key_hash between $3 and $4 limit $5::bigint) kept
    """)

  /// Takes an idempotency key that is unused or expired, and then returns one row.
  static let begin = Statement<
    Bool, AppID, String, BinaryBytes, BinaryBytes, Duration, ServerTime
  >(
    "idempotency_keys.begin",
    """
    insert into idempotency_keys as k (app_id, owner, key_hash, request_hash, expires_at)
    values ($1, $2, $3, $4, now() + $5::interval)
    on conflict (owner, app_id, key_hash) do update
      set request_hash = excluded.request_hash, answer = null, expires_at = excluded.expires_at
      where k.expires_at <= $6::timestamptz
    returning true
    """)

  /// - Parameter 4: how long the rows of lost requests are still kept, at most.
  static let find = Statement<KeptAnswerRow, AppID, String, BinaryBytes, Duration>(
    "idempotency_keys.find",
    """
    select request_hash, answer, expires_at < now() + $4::interval from idempotency_keys
    where app_id = $1 and owner = $2 and key_hash = $3 and expires_at > now()
    """)

  static let keep = Statement<NoRow, AppID, String, BinaryBytes, BinaryBytes, Duration>(
    "idempotency_keys.keep",
    """
    update idempotency_keys set answer = $4, expires_at = now() + $5::interval
    where app_id = $1 and owner = $2 and key_hash = $3
    """)

  static let forget = Statement<NoRow, AppID, String, BinaryBytes>(
    "idempotency_keys.forget",
    "delete from idempotency_keys where app_id = $1 and owner = $2 and key_hash = $3 and answer is null"
  )

  package static let all: [any PreparedStatement] = [count, begin, find, keep, forget]
}
