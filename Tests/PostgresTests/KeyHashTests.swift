import EventLoop
import Postgres
import TestSupport
import Testing

/// Compares the hash of keys with PostgreSQL's.
@Suite struct KeyHashTests {
  init() { LoopThread.start() }

  @Test @EventLoop func `keys of each length have the hash of PostgreSQL`() async throws {
    let database = try await TestCluster.shared.createDatabase()
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    let rows = try await connection.query(
      """
      select value, hashtext(value collate "C") from (
        select coalesce(string_agg(chr(33 + (length * 7 + place * 31) % 1000), ''), '') from generate_series(0, 40)
          as length left join generate_series(1, length) as place on true group by length
      ) as texts (value)
      """
    ).rows
    #expect(rows.count == 41)
    for row in rows {
      #expect(KeyHash.of((row[0] ?? "").utf8) == Int32(row[1] ?? ""))
    }
  }
}
