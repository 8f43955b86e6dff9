import EventLoop
import Postgres
package import Runtime

/// The numbers of an app on some days.
package struct Statistics: Sendable {
  /// The numbers by day; those that are not counted are missing.
  package let days: [(day: String, counts: [DailyCount: Int])]
  /// The newest number of users; nil before the first night.
  package let users: Int?
  /// The day of that number.
  package let usersDay: String?
  /// The time up to which events are counted, in seconds since 1970; nil before the first run.
  package let countedTo: Int?

  /// The most days of one request.
  package static let limit = 366

  /// Returns the numbers of an app.
  ///
  /// - Parameters:
  ///   - days: the days since 1970.
  ///   - app: the app.
  ///   - context: the context of the request.
  /// - Returns: the numbers, oldest day first.
  /// - Throws: `.databaseUnavailable`.
  @EventLoop package static func read(
    _ days: ClosedRange<Int>, of app: AppID, _ context: RequestContext
  ) async throws(Failure) -> Statistics {
    let (first, last) = (DailyCounter.day(days.lowerBound), DailyCounter.day(days.upperBound))
    let rows = try await context.read(StatisticsQueries.days, app, first, last)
    let newest = try await context.first(StatisticsQueries.users, app)
    let place = try await context.first(DailyCountQueries.place, app)
    var counts: [String: [DailyCount: Int]] = [:]
    for row in rows {
      guard let name = DailyCount(rawValue: row.name) else { continue }
      counts[row.day, default: [:]][name] = row.value
    }
    return Statistics(
      days: days.map { number in
        let day = DailyCounter.day(number)
        return (day, counts[day] ?? [:])
      },
      users: newest?.value, usersDay: newest?.day, countedTo: place.map(DailyCounter.second))
  }
}

/// A number of a day.
struct DailyCountRow: RowDecodable {
  let day: String
  let name: String
  let value: Int

  init(from row: Row) throws(DatabaseError) {
    (day, name, value) = (try row.text(0), try row.text(1), try row.int(2))
  }
}

package enum StatisticsQueries {
  /// Served by the primary key.
  static let days = Statement<DailyCountRow, AppID, String, String>(
    "statistics.days",
    """
    select day::text, name, value from daily_counts
    where app_id = $1 and day >= $2::date and day <= $3::date
    """)

  /// Returns the newest number of users.
  ///
  /// Served by the primary key.
  static let users = Statement<DailyCountRow, AppID>(
    "statistics.users",
    """
    select day::text, name, value from daily_counts
    where app_id = $1 and name = 'users' order by day desc limit 1
    """)
}
