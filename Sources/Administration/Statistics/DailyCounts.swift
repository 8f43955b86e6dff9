import Encoding
package import EventLoop
package import Postgres
import Runtime

/// A number of an app on a day.
package enum DailyCount: String, CaseIterable, Sendable {
  /// New users, with guests.
  case signUps = "sign_ups"
  case signIns = "sign_ins"
  /// Refused sign-ins.
  case failures
  /// The limits that callers have used up, each once in its window.
  case rateLimits = "rate_limits"
  /// All users, in the night after the day.
  case users
  /// The users with a session that was used on the day.
  case activeUsers = "active_users"

  /// The numbers that grow with events, and so are 0 on a day without any.
  package static let ofEvents: [DailyCount] = [.signUps, .signIns, .failures, .rateLimits]
}

/// Counts the numbers of each app by day.
///
/// A run adds the events since the last one, in pages of their ids. After 03:00 UTC it counts the
/// day before again, since an event may be stored late, and counts users. Several hosts may count at
/// once: each page moves a mark, which only one of them does.
@EventLoop package struct DailyCounter {
  private let database: Database
  private let size: Int

  /// The days before the first run whose events are counted.
  private static let daysBefore = 90
  /// The seconds within which an event is stored after its id was made.
  private static let delay = 10
  nonisolated private static let secondsOfDay = 86_400

  /// - Parameters:
  ///   - database: the database.
  ///   - size: the most rows that one statement reads.
  package init(_ database: Database, size: Int = 10_000) {
    (self.database, self.size) = (database, size)
  }

  /// Counts what is new in all apps.
  ///
  /// - Parameter now: the seconds since 1970.
  /// - Throws: the error of the database; what was counted until then stays.
  package func run(at now: Int = Timestamp.now.seconds) async throws(DatabaseError) {
    for app in try await database.read(DailyCountQueries.apps) {
      try await add(to: app, until: now - Self.delay, from: now - now % Self.secondsOfDay)
      let hour = now % Self.secondsOfDay / 3_600
      if hour >= 3 { try await recount(app, now / Self.secondsOfDay - 1) }
    }
  }

  /// Adds the events of an app since the last run, before the second `end`.
  ///
  /// `today` is the first second of the day.
  private func add(
    to app: AppID, until end: Int, from today: Int
  ) async throws(DatabaseError) {
    let start = Self.mark(today - Self.daysBefore * Self.secondsOfDay)
    _ = try await database.write(DailyCountQueries.begin, app, start)
    guard var place = try await database.write(DailyCountQueries.place, app).first else { return }
    while Self.second(of: place) < end {
      let (counts, next) = try await page(of: app, after: place, until: end)
      let isOurs = try await database.transaction {
        [place] transaction async throws(DatabaseError) in
        let moved = try await transaction.run(DailyCountQueries.move, app, place, next)
        guard !moved.isEmpty else { return false }
        let day = Self.day(Self.second(of: place) / Self.secondsOfDay)
        for (name, value) in counts where value > 0 {
          _ = transaction.send(DailyCountQueries.add, app, day, name.rawValue, value)
        }
        return true
      }
      // Another host counts.
      guard isOurs else { return }
      place = next
    }
  }

  /// Counts a page of events and the users made in its time.
  ///
  /// - Returns: the numbers, and the place after the page. Both are of one day.
  private func page(
    of app: AppID, after place: String, until end: Int
  ) async throws(DatabaseError) -> (counts: [DailyCount: Int], next: String) {
    let start = Self.second(of: place)
    let midnight = (start / Self.secondsOfDay + 1) * Self.secondsOfDay
    var next = Self.mark(min(end, midnight))
    let rows = try await database.search(DailyCountQueries.events, app, place, next, size)
    if rows.reduce(0, { $0 + $1.count }) == size, let last = rows.map(\.last).max() { next = last }
    var counts: [DailyCount: Int] = [:]
    for row in rows {
      guard let name = row.name else { continue }
      counts[name, default: 0] += row.count
    }
    let stop = Self.second(of: next)
    if stop > start {
      counts[.signUps] = try await database.search(DailyCountQueries.signUps, app, start, stop)
        .first
    }
    return (counts, next)
  }

  /// Counts a day again, unless that was done.
  private func recount(_ app: AppID, _ day: Int) async throws(DatabaseError) {
    let text = Self.day(day)
    let (start, end) = (day * Self.secondsOfDay, (day + 1) * Self.secondsOfDay)
    guard let place = try await database.write(DailyCountQueries.unfinished, app, text).first,
      Self.second(of: place) >= end
    else { return }
    var counts: [DailyCount: Int] = [:]
    for name in DailyCount.allCases { counts[name] = 0 }
    var next = Self.mark(start)
    while Self.second(of: next) < end {
      let page = try await page(of: app, after: next, until: end)
      for (name, value) in page.counts { counts[name, default: 0] += value }
      next = page.next
    }
    var user: String? = ""
    while let last = user {
      let page = try await database.search(
        DailyCountQueries.users, app, last, start, end, size
      ).first
      counts[.users, default: 0] += page?.users ?? 0
      counts[.activeUsers, default: 0] += page?.activeUsers ?? 0
      user = page?.users == size ? page?.last : nil
    }
    try await database.transaction { [counts] transaction async throws(DatabaseError) in
      let mine = try await transaction.run(DailyCountQueries.finish, app, text)
      for (name, value) in counts where !mine.isEmpty {
        _ = transaction.send(DailyCountQueries.set, app, text, name.rawValue, value)
      }
    }
  }

  /// Returns the least id of events of a second.
  nonisolated static func mark(_ second: Int) -> String {
    let digits = String(max(0, min(second, 0xffff_ffff)), radix: 16)
    let zeros = String(repeating: "0", count: 8 - digits.utf8.count)
    return zeros + digits + String(repeating: "0", count: 16)
  }

  nonisolated static func second(of mark: String) -> Int {
    Int(String(mark.prefix(8)), radix: 16) ?? 0
  }

  /// Returns the text of a day, by the number of days since 1970.
  nonisolated package static func day(_ number: Int) -> String {
    String(CalendarTime(seconds: number * secondsOfDay, nanoseconds: 0).text.prefix(10))
  }
}

/// The number of events with one action on a page.
struct EventCount: RowDecodable {
  let name: DailyCount?
  let count: Int
  /// The greatest id.
  let last: String

  init(from row: Row) throws(DatabaseError) {
    name =
      switch try row.text(0) {
      case "login": .signIns
      case "login_failure": .failures
      case "rate_limited": .rateLimits
      default: nil
      }
    (count, last) = (try row.int(1), try row.text(2))
  }
}

/// The number of users on a page.
struct UserCount: RowDecodable {
  let users: Int
  let activeUsers: Int
  /// The greatest id; nil for an empty page.
  let last: String?

  init(from row: Row) throws(DatabaseError) {
    (users, activeUsers, last) = (try row.int(0), try row.int(1), row.text(ifAny: 2))
  }
}

package enum DailyCountQueries {
  static let apps = Statement<AppID>("daily_counts.apps", "select app_id from apps order by app_id")

  static let begin = Statement<NoRow, AppID, String>(
    "daily_counts.begin",
    """
    insert into count_progress (app_id, counted_to) values ($1, $2) on conflict (app_id) do nothing
    """)

  static let place = Statement<String, AppID>(
    "daily_counts.place", "select counted_to from count_progress where app_id = $1"
  )

  /// Moves the mark from `$2` to `$3`; returns no row if another host has moved it.
  static let move = Statement<Int, AppID, String, String>(
    "daily_counts.move",
    """
    update count_progress set counted_to = $3 where app_id = $1 and counted_to = $2 returning 1
    """)

  static let add = Statement<NoRow, AppID, String, String, Int>(
    "daily_counts.add",
    """
    insert into daily_counts (app_id, day, name, value) values ($1, $2::date, $3, $4)
    on conflict (app_id, day, name) do update set value = daily_counts.value + excluded.value
    """)

  static let set = Statement<NoRow, AppID, String, String, Int>(
    "daily_counts.set",
    """
    insert into daily_counts (app_id, day, name, value) values ($1, $2::date, $3, $4)
    on conflict (app_id, day, name) do update set value = excluded.value
    """)

  /// Returns the mark, unless the day was counted again.
  static let unfinished = Statement<String, AppID, String>(
    "daily_counts.unfinished",
    """
    select counted_to from count_progress
    where app_id = $1 and coalesce(recounted_on < $2::date, true)
    """)

  /// Notes that a day was counted again; returns no row if another host has noted it.
  static let finish = Statement<Int, AppID, String>(
    "daily_counts.finish",
    """
    update count_progress set recounted_on = $2::date
    where app_id = $1 and coalesce(recounted_on < $2::date, true) returning 1
    """)

  /// Counts the first events between two ids, of all shards.
  ///
  /// Served by `audit_by_app`.
  static let events = Statement<EventCount, AppID, String, String, Int>(
    "daily_counts.events",
    """
    select action, count(*), max(event_id) from (
      select event_id, action from audit
      where app_id = $1 and event_id > $2 and event_id < $3
      order by event_id limit $4::bigint
    ) e
    group by action
    """)

  /// Counts the users made between two seconds, of all shards.
  ///
  /// Served by `users_by_created_at`.
  static let signUps = Statement<Int, AppID, Int, Int>(
    "daily_counts.sign_ups",
    """
    select count(*) from users
    where app_id = $1 and created_at >= to_timestamp($2::bigint)
      and created_at < to_timestamp($3::bigint)
    """)

  /// Counts a page of users, and those with a session that was used since `$3`, of all shards.
  ///
  /// Served by `users_by_app` and `sessions_pkey`.
  static let users = Statement<UserCount, AppID, String, Int, Int, Int>(
    "daily_counts.users",
    """
    select count(*), count(p.is_active), max(p.user_id) from (
      select u.user_id, a.is_active
      from users u
      left join lateral (
        select true as is_active from sessions s
        where s.user_id = u.user_id and s.refreshed_at >= to_timestamp($3::bigint)
          and s.created_at < to_timestamp($4::bigint)
        limit 1
      ) a on true
      where u.app_id = $1 and u.user_id > $2
      order by u.user_id limit $5::bigint
    ) p
    """)
}
