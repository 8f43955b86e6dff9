import Dossier
import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct HousekeepingTests {
  init() { LoopThread.start() }

  private static let old = """
    insert into users (user_id, app_id, anonymous) select repeat('1', 24), app_id, true from apps;
    insert into audit (user_id, event_id, app_id, at, action, actor)
    select repeat('1', 24), lpad(g::text, 24, '0'), app_id, now() - interval '1 day' * (365 + g % 2), 'x',
      'user'
    from apps, generate_series(0, 4999) g;
    insert into audit (user_id, event_id, app_id, action, actor)
    select repeat('1', 24), repeat('f', 24), app_id, 'x', 'user' from apps;
    insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
      expires_at, ended_at)
    select repeat('1', 24), lpad(g::text, 24, '0'), app_id, repeat('2', 24), 'anonymous', '', '',
      now() + interval '10 days' * (g - 4) + interval '1 minute', case g when 9 then now() - interval '31 days' end
    from apps, generate_series(0, 9) g;
    insert into failures (app_id, subject, count, until)
    select app_id, int4send(g), 1, now() + interval '1 hour' * (2 * g - 1) from apps,
      generate_series(0, 1) g;
    insert into mail_tokens (user_id, purpose, token_hash, email, expires_at)
    values (repeat('1', 24), 'confirm', '', 'a@b.c', now() - interval '1 second'),
      (repeat('1', 24), 'reset', '', 'a@b.c', now() + interval '1 hour');
    """

  private enum Queries {
    static let left = Statement<String>(
      "test.left",
      """
      select (select count(*) from audit) || ' ' || (select count(*) from sessions) || ' '
        || (select count(*) from failures) || ' ' || (select count(*) from mail_tokens)
      """
    )
  }

  @Test func `what nobody can use any more is removed, and nothing else`() async throws {
    let name = try await TestCluster.shared.createDatabase()
    let (left, again) = try await keepHouse(name)
    // Of the sessions: the one that expired 40 days ago and the one that ended 31 days ago.
    #expect(left == "1 8 1 1")
    #expect(again == 0)
  }

  @EventLoop func keepHouse(_ name: String) async throws -> (String, Int) {
    let connection = try await Connection.open(ConnectionSettings(name, applicationName: "test"))
    defer { connection.close() }
    try await Migrated.schema(on: connection)
    try await connection.script(Self.old)
    let database = Database(DatabaseSettings(conninfo: name, applicationName: "test"))
    database.start()
    defer { database.stop() }
    _ = try await Housekeeping.run(database)
    let left = try await database.write(Queries.left)[0]
    let again = try await Housekeeping.run(database)
    return (left, again.values.reduce(0, +))
  }
}
