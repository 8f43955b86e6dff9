import Runtime
package import Postgres

package enum AttemptQueries {
  /// Counts an attempt against one limit; undoes the transaction if the limit is used up.
  ///
  /// Parallel attempts wait for one another at the row of the subject. Each reads the count that
  /// the attempt before it has written.
  /// - Parameter 3: the time.
  /// - Parameter 4: the cost of one attempt.
  /// - Parameter 5: the time in which all attempts come back.
  static let spend = Statement<Int, AppID, BinaryBytes, ServerTime, Duration, Duration>(
    "rate_limits.spend",
    """
    insert into rate_limits as a (app_id, subject, theoretical_arrival_at)
    values ($1, $2, ($3::timestamptz at time zone 'UTC' + $4::interval) at time zone 'UTC')
    on conflict (app_id, subject) do update
      set theoretical_arrival_at = case when require(greatest(a.theoretical_arrival_at, $3) - $3 + $4 <= $5::interval)
        then (greatest(a.theoretical_arrival_at, $3) at time zone 'UTC' + $4) at time zone 'UTC' end
    returning (extract(epoch from a.theoretical_arrival_at - $3) * 1000000)::bigint
    """)

  /// Returns in how many microseconds all attempts come back; no row if none was counted.
  static let ahead = Statement<Int, AppID, BinaryBytes>(
    "rate_limits.ahead",
    """
    select (extract(epoch from greatest(theoretical_arrival_at, now()) - now()) * 1000000)::bigint
    from rate_limits where app_id = $1 and subject = $2
    """)

  /// Gives an attempt back, and returns the same as `ahead`.
  ///
  /// - Parameter 3: the time.
  /// - Parameter 4: the cost of one attempt.
  static let giveBack = Statement<Int, AppID, BinaryBytes, ServerTime, Duration>(
    "rate_limits.give_back",
    """
    update rate_limits set theoretical_arrival_at = (theoretical_arrival_at at time zone 'UTC' - $4::interval) at time zone 'UTC'
    where app_id = $1 and subject = $2
    returning (extract(epoch from greatest(theoretical_arrival_at, $3::timestamptz) - $3) * 1000000)::bigint
    """)

  package static let all: [any PreparedStatement] = [spend, ahead, giveBack]
}
