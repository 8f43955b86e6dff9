package import Postgres
import Records
package import Runtime

/// A log stream with its position, and whether a worker may claim it now.
package struct LogStreamWork: RowDecodable {
  let stream: String
  let position: Int
  let isFree: Bool

  package init(from row: Row) throws(DatabaseError) {
    (stream, position, isFree) = (try row.text(0), try row.int(1), try row.bool(2))
  }
}

/// The progress of a log stream that this worker has claimed.
package struct ClaimedLogStream: RowDecodable {
  let position: Int
  /// The lost events that the receiver does not know of yet.
  let unreported: Int

  package init(from row: Row) throws(DatabaseError) {
    (position, unreported) = (try row.int(0), try row.int(1))
  }
}

package enum LogStreamQueries {
  // MARK: Claims

  /// Returns how far some streams are, of all shards.
  ///
  /// Served by the primary key.
  package static let work = Statement<LogStreamWork, TextArray, ServerTime>(
    "log_streams.work",
    """
    select p.stream_id, p.position, (p.not_before is null or p.not_before <= $2::timestamptz)
      and (p.holder is null or p.leased_until <= $2::timestamptz)
    from log_stream_progress p where p.stream_id = any ($1::text[])
    """)

  package static let begin = Statement<NoRow, String, Int>(
    "log_streams.begin",
    """
    insert into log_stream_progress (stream_id, position) values ($1, $2) on conflict do nothing
    """)

  /// Claims a stream, unless another worker has it or a failure was just before.
  package static let claim = Statement<ClaimedLogStream, String, String, Duration, ServerTime>(
    "log_streams.claim",
    """
    update log_stream_progress set holder = $2, leased_until = $4::timestamptz + $3::interval
    where stream_id = $1 and (not_before is null or not_before <= $4::timestamptz)
      and (holder is null or leased_until <= $4::timestamptz)
    returning position, unreported
    """)

  package static let release = Statement<NoRow, String, String>(
    "log_streams.release",
    """
    update log_stream_progress set holder = null, leased_until = null
    where stream_id = $1 and holder = $2
    """)

  // MARK: Results

  /// Moves the position after a batch was accepted, and keeps the claim; returns no row if another
  /// worker has the stream.
  package static let advance = Statement<
    Int, String, String, Int, Int, Int, Timestamp, Duration, ServerTime
  >(
    "log_streams.advance",
    """
    update log_stream_progress set position = $4::bigint, unreported = unreported - $5::bigint,
      failures = 0, failing_since = null, last_success_at = $6::timestamptz,
      leased_until = $8::timestamptz + $7::interval
    where stream_id = $1 and holder = $2 and position = $3::bigint returning 1
    """)

  /// Moves the position over events that the stream does not want.
  package static let skip = Statement<Int, String, String, Int, Int, Duration, ServerTime>(
    "log_streams.skip",
    """
    update log_stream_progress set position = $4::bigint,
      leased_until = $6::timestamptz + $5::interval
    where stream_id = $1 and holder = $2 and position = $3::bigint returning 1
    """)

  /// Moves the position over events that the feed no longer has.
  package static let lose = Statement<Int, String, String, Int, Int, Int, Timestamp>(
    "log_streams.lose",
    """
    update log_stream_progress set position = $4::bigint, lost = lost + $5::bigint,
      unreported = unreported + $5::bigint, lost_at = $6::timestamptz
    where stream_id = $1 and holder = $2 and position = $3::bigint returning 1
    """)

  /// Records a failure, ends the claim, and lets no attempt begin before a time.
  package static let fail = Statement<NoRow, String, String, Timestamp, String, Timestamp>(
    "log_streams.fail",
    """
    update log_stream_progress set failures = failures + 1,
      failing_since = coalesce(failing_since, $3::timestamptz), last_failure_at = $3::timestamptz,
      last_error = $4, not_before = $5::timestamptz, holder = null, leased_until = null
    where stream_id = $1 and holder = $2
    """)

  /// Lets the next attempt begin at once.
  package static let revive = Statement<NoRow, String>(
    "log_streams.revive", "update log_stream_progress set not_before = null where stream_id = $1")

  // MARK: Operators

  package static let status = Statement<LogStreamStatus, String>(
    "log_streams.status",
    """
    select position, failures, failing_since, not_before, last_success_at, last_failure_at,
      last_error, lost, lost_at
    from log_stream_progress where stream_id = $1
    """)

  // MARK: Maintenance

  package static let all = Statement<String>("log_streams.all", "select stream_id from log_streams")

  /// Returns the streams with progress, of all shards.
  package static let known = Statement<String>(
    "log_streams.known", "select stream_id from log_stream_progress order by stream_id")

  package static let removeProgress = Statement<NoRow, String>(
    "log_streams.remove_progress", "delete from log_stream_progress where stream_id = $1")
}
