import Administration
import Declarations
import Encoding
import EventLoop
import HTTP
import JSON
import Representations
import Runtime
import WireKit

/// `/v1/statistics`, for the operator: the numbers of an app by day.
@EventLoop enum StatisticsResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/statistics", access: .operator, takes: .query(.firstDay, .lastDay),
      gives: [.ok(.statistics)], refuses: [.invalid([])],
      summary: "Read the numbers of an app by day"
    ) { (call) async throws(Failure) in
      let days = try days(of: call)
      let found = try await Statistics.read(days, of: call.namedApp.id, call.context)
      return Response(.ok, json: found.json.serialized())
    }
  ]

  /// Returns the days of the query: by default the last thirty.
  private static func days(of call: Call) throws(Failure) -> ClosedRange<Int> {
    let query = try ListQuery.parameters(of: call.request.query)
    var faults = query.names.filter { !["from", "to"].contains($0) }.map { name in
      FieldError(ofParameter: name, "query", "The query may have only from and to.")
    }
    func day(_ name: String) -> Int? {
      guard let text = query[name] else { return nil }
      guard let time = CalendarTime(text), time.zone == nil else {
        faults.append(
          FieldError(ofParameter: name, name, "\(name) must be a day such as 2026-01-31."))
        return nil
      }
      return time.day.number
    }
    let (first, last) = (day("from"), day("to"))
    let end = last ?? Timestamp.now.seconds / 86_400
    let start = first ?? end - 29
    if faults.isEmpty, start > end || end - start >= Statistics.limit {
      faults.append(
        FieldError(
          ofParameter: "from", "from",
          "from must be at most \(Statistics.limit - 1) days before to, and not after it."))
    }
    guard faults.isEmpty else { throw .invalid(faults) }
    return start...end
  }
}

extension Statistics {
  fileprivate var json: JSON {
    [
      "users": users.map { .number(JSONNumber($0)) } ?? .null, "users_on": JSON(usersDay),
      "counted_to": JSON(countedTo.map { Timestamp(microseconds: $0 * 1_000_000).text }),
      "days": .array(days.map { day, counts in Self.json(of: day, counts) }),
    ]
  }

  private static func json(of day: String, _ counts: [DailyCount: Int]) -> JSON {
    var members = JSONObject([("day", .string(day))])
    for name in DailyCount.allCases {
      let value = counts[name] ?? (DailyCount.ofEvents.contains(name) ? 0 : nil)
      members[name.rawValue] = value.map { .number(JSONNumber($0)) } ?? .null
    }
    return .object(members)
  }
}

extension QueryParameter {
  fileprivate static let firstDay = QueryParameter(
    name: "from", says: "the first day, in UTC; by default 29 days before the last one",
    shape: .text.like("2026-01-31"), component: "first_day")
  fileprivate static let lastDay = QueryParameter(
    name: "to", says: "the last day, included; by default today. At most 366 days are read",
    shape: .text.like("2026-02-01"), component: "last_day")
}

extension Shape {
  fileprivate static let statistics = Shape.object([
    "users": .count.orNull.saying("the newest number of users; null before the first night")
      .like(1_204),
    "users_on": .text.orNull.saying("the day of that number").like("2026-01-31"),
    "counted_to": .time(Example.played).orNull
      .saying("the time up to which events are counted, ten minutes or less ago"),
    "days": .list(of: dailyCounts).saying("each day, the oldest first"),
  ]).named("Statistics", "The numbers of an app by day, in UTC.")

  private static let dailyCounts = Shape.object([
    "day": .text.saying("the day in UTC").like("2026-01-31"),
    "sign_ups": .count.saying("new users, with guests").like(12),
    "sign_ins": .count.saying("sign-ins of users, with guests").like(340),
    "failures": .count.saying("refused sign-ins").like(9),
    "rate_limits": .count.saying("limits that callers used up, each once in its window").like(1),
    "users": .count.orNull.saying("all users in the night after; null until then").like(1_204),
    "active_users": .count.orNull
      .saying("users with a session that was used on the day; null until the night after").like(
        230),
  ]).named("DailyCounts", "The numbers of a day.")
}
