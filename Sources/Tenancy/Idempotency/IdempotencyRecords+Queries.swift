import Runtime
package import Postgres

/// A stored response; it is nil while the request is in progress.
struct KeptAnswerRow: RowDecodable {
  let request: [UInt8]
  let answer: [UInt8]?

  init(from row: Row) throws(DatabaseError) {
    request = try row.binary(0)
    answer = try row.binary(ifAny: 1)
  }
}

package enum IdempotencyQueries {
  /// Takes an idempotency key that is unused or expired, and then returns one row.
  ///
  /// Also returns no row if the owner has reached its limit of keys.
  static let begin = Statement<
    Bool, AppID, String, UserID?, BinaryBytes, BinaryBytes, Duration, Int, ServerTime
  >(
    "kept_answers.begin",
    """
    insert into kept_answers as k (app_id, owner, user_id, key_hash, request_hash, expires_at)
    select $1::text, $2::text, $3::text, $4, $5, now() + $6::interval
    where $7::bigint > (select count(*) from (
      select 1 from kept_answers where app_id = $1::text and owner = $2::text limit $7::bigint) kept)
    on conflict (app_id, owner, key_hash) do update
      set request_hash = excluded.request_hash, answer = null, expires_at = excluded.expires_at
      where k.expires_at <= $8::timestamptz
    returning true
    """
  )

  static let find = Statement<KeptAnswerRow, AppID, String, BinaryBytes>(
    "kept_answers.find",
    """
    select request_hash, answer from kept_answers
    where app_id = $1 and owner = $2 and key_hash = $3 and expires_at > now()
    """
  )

  static let keep = Statement<NoRow, AppID, String, BinaryBytes, BinaryBytes, Duration>(
    "kept_answers.keep",
    """
    update kept_answers set answer = $4, expires_at = now() + $5::interval
    where app_id = $1 and owner = $2 and key_hash = $3
    """
  )

  static let forget = Statement<NoRow, AppID, String, BinaryBytes>(
    "kept_answers.forget",
    "delete from kept_answers where app_id = $1 and owner = $2 and key_hash = $3 and answer is null"
  )

  package static let all: [any PreparedStatement] = [begin, find, keep, forget]
}
