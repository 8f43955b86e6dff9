@testable import Administration
import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests the numbers of apps by day.
@Suite struct DailyCountTests {
  init() { LoopThread.start() }

  /// Noon of 15 November 2023.
  private static let noon = 1_700_049_600
  private static let day = 86_400

  /// Two apps, with events of three days: 3 logins yesterday, and each minute one from midnight on.
  private static let events = """
    delete from apps;
    insert into apps (app_id, name) values (repeat('a', 24), 'busy'), (repeat('b', 24), 'quiet');
    create function mark(second bigint, rest bigint) returns text language sql
      return lpad(to_hex(second), 8, '0') || lpad(to_hex(rest), 16, '0');
    insert into audit (user_id, event_id, app_id, action, actor)
    select repeat('1', 24), mark(\(noon - day) + g, g), repeat('a', 24),
      case when g = 4 then 'rate_limited' when g > 4 then 'user_block' else 'login' end, 'user'
    from generate_series(1, 6) g;
    insert into audit (user_id, event_id, app_id, action, actor)
    select repeat('1', 24), mark(\(noon) - 43200 + 60 * g, g + 1), repeat('a', 24),
      case when g % 2 = 0 then 'login' else 'login_failure' end, 'user'
    from generate_series(0, 719) g;
    insert into users (user_id, app_id, anonymous, created_at)
    select lpad(to_hex(g), 24, '0'), repeat('a', 24), true, to_timestamp(\(noon - day) + 3600 * g)
    from generate_series(1, 20) g;
    insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
      expires_at, created_at, refreshed_at)
    select user_id, user_id, app_id, user_id, 'anonymous', '', '', to_timestamp(\(noon + day)),
      to_timestamp(case when user_id like '%f' then \(noon) else \(noon - 3 * day) end),
      to_timestamp(case when user_id like '%1' then \(noon - 2 * day) else \(noon) end)
    from users;
    """

  private enum Queries {
    static let counts = Statement<String>(
      "test.daily_counts",
      """
      select string_agg(line, ', ' order by line) from (
        select to_char(day, 'DD') || ' ' || name || ' ' || value as line from daily_counts
        where app_id = repeat('a', 24)) x
      """)
  }

  @EventLoop private func count(
    _ work: @EventLoop (Database, Connection) async throws -> Void
  ) async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    try await connection.script(Self.events)
    let database = Database(.patient(name))
    database.start()
    defer { database.stop() }
    try await work(database, connection)
  }

  /// The numbers before the night, and after it.
  private static let before = """
    14 rate_limits 1, 14 sign_ins 3, 14 sign_ups 11, 15 failures 60, 15 sign_ins 60, 15 sign_ups 2
    """
  private static let after = """
    14 active_users 17, 14 failures 0, 14 rate_limits 1, 14 sign_ins 3, 14 sign_ups 11, \
    14 users 20, 15 failures 120, 15 sign_ins 120, 15 sign_ups 4
    """

  @Test(arguments: [3, 7, 10_000])
  @EventLoop func `events are counted once, in pages of any size`(size: Int) async throws {
    try await count { database, _ in
      let counter = DailyCounter(database, size: size)
      let morning = Self.noon - 43_200
      try await counter.run(at: morning + 2 * 3_600)
      #expect(try await database.write(Queries.counts) == [Self.before])
      try await counter.run(at: morning + 2 * 3_600)
      #expect(try await database.write(Queries.counts) == [Self.before])
      try await counter.run(at: morning + 4 * 3_600)
      #expect(try await database.write(Queries.counts) == [Self.after])
      try await counter.run(at: morning + 4 * 3_600)
      #expect(try await database.write(Queries.counts) == [Self.after])
    }
  }

  @Test @EventLoop func `several hosts count each event once`() async throws {
    try await count { database, _ in
      let counters = (1...4).map { _ in
        EventLoop.task { try? await DailyCounter(database, size: 5).run(at: Self.noon - 36_000) }
      }
      for counter in counters { await counter.value }
      // One of them has ended, perhaps none at the end.
      try await DailyCounter(database, size: 5).run(at: Self.noon - 36_000)
      #expect(try await database.write(Queries.counts) == [Self.before])
    }
  }

  @Test @EventLoop func `a late event counts after the night`() async throws {
    try await count { database, connection in
      let counter = DailyCounter(database)
      let morning = Self.noon - 43_200
      try await counter.run(at: morning + 2 * 3_600)
      try await connection.script(
        """
        insert into audit (user_id, event_id, app_id, action, actor) values
          (repeat('1', 24), mark(\(Self.noon - Self.day) + 2, 99), repeat('a', 24), 'login', 'user')
        """)
      try await counter.run(at: morning + 2 * 3_600)
      #expect(try await database.write(Queries.counts) == [Self.before])
      try await counter.run(at: morning + 4 * 3_600)
      let found = try await database.write(Queries.counts)
      #expect(found == [Self.after.replacing("14 sign_ins 3", with: "14 sign_ins 4")])
    }
  }

  @Test @EventLoop func `an error in the middle loses and repeats nothing`() async throws {
    try await count { database, connection in
      let counter = DailyCounter(database, size: 5)
      let time = Self.noon - 36_000
      try await connection.script(
        "alter table daily_counts add constraint few check (value < 20)")
      await #expect(throws: DatabaseError.self) { try await counter.run(at: time) }
      try await connection.script("alter table daily_counts drop constraint few")
      try await counter.run(at: time)
      #expect(try await database.write(Queries.counts) == [Self.before])
    }
  }
}
