package import Postgres

/// What an attempt has done to one of its allowances.
struct SpentRow: RowDecodable {
  /// In how many microseconds all that was used is there again.
  let ahead: Int
  /// Whether the attempt was counted.
  let isSpent: Bool

  init(from row: Row) throws(DatabaseError) {
    ahead = try row.int(0)
    isSpent = try row.bool(1)
  }
}

package enum AttemptQueries {
  /// Counts an attempt against each allowance, unless one of them was used up before; one row for
  /// each, in their order.
  ///
  /// Attempts at the same moment follow one another on each subject's row, and look at what it is by
  /// then: what an earlier one has used up is not counted. The order of the subjects is the same in
  /// all statements, so that none waits for another that waits for it.
  /// - Parameter 2: an array of objects with `subject`, `burst` and `seconds`.
  static let spend = Statement<SpentRow, AppID, TextBytes>(
    "attempts.spend",
    """
    with asked as (
      select subject, place, now() + seconds * interval '1 second' as horizon,
        seconds * 1000000 / burst * interval '1 microsecond' as share
      from rows from (
        json_to_recordset($2::json) as (subject bytea, burst bigint, seconds bigint)
      ) with ordinality as s (subject, burst, seconds, place)
    ), before as (
      select q.subject, q.place, q.horizon, q.share, greatest(a.clear_at, now()) as clear_at
      from asked q left join attempts a on a.app_id = $1 and a.subject = q.subject
    ), spent as (
      insert into attempts as a (app_id, subject, clear_at)
      select $1, subject, now() + share from asked
      where not exists (select from before where clear_at + share > horizon)
      order by subject
      on conflict (app_id, subject) do update
        set clear_at = greatest(a.clear_at, now()) + (excluded.clear_at - now())
        where greatest(a.clear_at, now()) + (excluded.clear_at - now())
          <= (select horizon from asked q where q.subject = excluded.subject)
      returning subject, clear_at
    )
    select (extract(epoch from coalesce(s.clear_at, b.clear_at) - now()) * 1000000)::bigint,
      s.subject is not null
    from before b left join spent s using (subject)
    order by b.place
    """
  )

  /// Whether an attempt could be counted now; parameters as of `spend`.
  static let areLeft = Statement<Bool, AppID, TextBytes>(
    "attempts.are_left",
    """
    select not exists (
      select from json_to_recordset($2::json) as q (subject bytea, burst bigint, seconds bigint)
      join attempts a on a.app_id = $1 and a.subject = q.subject
      where greatest(a.clear_at, now()) + q.seconds * 1000000 / q.burst * interval '1 microsecond'
        > now() + q.seconds * interval '1 second')
    """
  )

  /// Takes an attempt away again; rows as `spend`, of what was never counted too.
  static let giveBack = Statement<SpentRow, AppID, TextBytes>(
    "attempts.give_back",
    """
    with asked as (
      select subject, place, seconds * 1000000 / burst * interval '1 microsecond' as share
      from rows from (
        json_to_recordset($2::json) as (subject bytea, burst bigint, seconds bigint)
      ) with ordinality as s (subject, burst, seconds, place)
    ), locked as (
      select a.subject, q.share from attempts a join asked q using (subject)
      where a.app_id = $1 order by a.subject for update of a
    ), given as (
      update attempts a set clear_at = a.clear_at - l.share
      from locked l where a.app_id = $1 and a.subject = l.subject
      returning a.subject, a.clear_at
    )
    select (extract(epoch from greatest(g.clear_at, now()) - now()) * 1000000)::bigint, false
    from asked q left join given g using (subject)
    order by q.place
    """
  )

  package static let all: [any PreparedStatement] = [spend, areLeft, giveBack]
}
