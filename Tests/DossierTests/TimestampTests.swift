import EventLoop
import Postgres
import TestSupport
import Testing

@testable import Runtime

@Suite struct TimestampTests {
  init() { LoopThread.start() }

  private static let times = [
    "1970-01-01 00:00:00", "1970-01-01 00:00:00.000001", "2024-02-29 23:59:59.999999",
    "2100-02-28 12:00:00", "2000-03-01 00:00:00.5", "1969-12-31 23:59:59.25",
    "0001-01-01 00:00:00", "9999-12-31 23:59:59.9",
  ]

  @Test @EventLoop func `a time is parsed and formatted as in the database`() async throws {
    let name = try await TestCluster.shared.createDatabase()
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    for time in Self.times {
      let row = try await connection.query(
        """
        select (extract(epoch from t) * 1000000)::bigint, to_json(t at time zone 'UTC') #>> '{}'
        from (select ($1 || '+00')::timestamptz) as x (t)
        """,
        [time]
      ).rows[0]
      let read = try #require(Timestamp(stored: Array((time + "+00").utf8)))
      #expect(String(read.microseconds) == row[0])
      #expect(read.text == (row[1] ?? "") + "+00:00")
    }
  }

  @Test(arguments: ["", "2026-01-01", "2026-01-01 00:00:00", "2026-01-01 00:00:00+01", "infinity"])
  func `a time that is not in UTC is refused`(_ text: String) {
    #expect(Timestamp(stored: Array(text.utf8)) == nil)
  }
}
