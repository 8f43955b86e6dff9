import Dossier
import EventLoop
import Postgres
import TestSupport
import Testing

/// Tests the deletion of unused anonymous users and devices.
@Suite struct UnusedTests {
  init() { LoopThread.start() }

  /// In each app, the user `00…` and many like it are unused.
  ///
  /// Each other user has some data, which its name describes.
  private static let users = """
    delete from apps;
    insert into apps (app_id, name, settings) values
      (repeat('a', 24), 'usual', '{}'), (repeat('b', 24), 'short', '{"anonymous_days": 10}'),
      (repeat('c', 24), 'never', '{"anonymous_days": 0}');
    create function someone(app text, g integer) returns text language sql
      return app || lpad(g::text, 23, '0');
    insert into users (user_id, app_id, anonymous, created_at, last_login_at, name)
    select someone(app, g), repeat(app, 24), g <> 1, now() - interval '31 days',
      now() - case g when 2 then interval '1 day' when 3 then interval '29 days'
        else interval '31 days' end,
      case g when 4 then 'Ada' end
    from unnest('{a,b,c}'::text[]) app, generate_series(0, 3000) g;
    insert into identities (user_id, identity_id, app_id, provider, subject)
    select user_id, user_id, app_id, case when anonymous then 'anonymous' else 'jwt' end, user_id
    from users where user_id <> someone(left(user_id, 1), 5);
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select app_id, provider, subject, user_id, identity_id from identities;
    insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
      refreshed_at, expires_at)
    select user_id, user_id, app_id, user_id, 'anonymous', '', '',
      case when user_id = someone(left(user_id, 1), 6) then now() - interval '1 day'
        else now() - interval '31 days' end, now() + interval '29 days'
    from users;
    insert into documents (user_id, class, body, version)
    select someone(app, 7), 'metadata', '{}', 1
    from unnest('{a,b,c}'::text[]) app;
    insert into documents (user_id, class, body, version, deleted_at)
    select someone(app, 8), 'custom_data', '{}', 2, now() from unnest('{a,b,c}'::text[]) app;
    insert into properties (user_id, key, value, version) select someone(app, 9), 'k', '1', 1
    from unnest('{a,b,c}'::text[]) app;
    insert into api_keys (user_id, key_id, name, key_hash)
    select someone(app, 10), repeat('1', 24), 'k', '' from unnest('{a,b,c}'::text[]) app;
    update users set version = 3 where user_id = someone(left(user_id, 1), 11);
    update users set version = 2, blocked_at = now() where user_id = someone(left(user_id, 1), 12);
    """

  private static let devices = """
    insert into apps (app_id, name) values (repeat('a', 24), 'usual');
    insert into users (user_id, app_id, anonymous) values (repeat('a', 24), repeat('a', 24), true);
    insert into devices (device_id, app_id, secret_hash, last_seen_at)
    select lpad(g::text, 24, '0'), repeat('a', 24), '',
      now() - case when g % 100 = 1 then interval '23 hours' else interval '25 hours' end
    from generate_series(1, 3000) g;
    insert into device_users (user_id, device_id)
    select repeat('a', 24), device_id from devices where device_id like '%02';
    """

  private enum Queries {
    static let users = Statement<String>(
      "test.users",
      """
      select string_agg(app || ':' || ids, ' ' order by app) from (
        select left(user_id, 1) as app,
          case when count(*) > 100 then count(*)::text
            else string_agg(right(user_id, 4)::integer::text, ',' order by user_id) end as ids
        from users group by 1) x
      """
    )
    static let rest = Statement<String>(
      "test.rest",
      """
      select concat((select count(*) from identity_subjects i
          where not exists (select from users u where u.user_id = i.user_id)), ' ', (
        select concat(count(*), ' ', min(actor), ' ', min(detail ->> 'reason')) from audit
          where action = 'user_delete'))
      """
    )
    static let devices = Statement<String>(
      "test.devices",
      """
      select count(*) filter (where device_id like '%01') || ' '
        || count(*) filter (where device_id like '%02') || ' ' || count(*) from devices
      """
    )
    static let forgotten = Statement<String>(
      "test.forgotten",
      """
      select coalesce(string_agg(conrelid::regclass::text, ' '), '') from pg_constraint
      where contype = 'f' and confrelid = 'users'::regclass
        -- Rows that depend on an identity, a password or a document, stored responses, and origins.
        and conrelid::regclass::text not in (
          'beginnings', 'device_users', 'kept_answers', 'mail_tokens', 'search_values')
        and pg_get_viewdef('unused_users'::regclass) !~ ('\\m' || conrelid::regclass::text || '\\M')
      """
    )
  }

  @Test func `inactive anonymous users without data are deleted after the app's days`()
    async throws
  {
    let (left, again) = try await keepHouse(Self.users, Queries.users)
    // Each app has 3001 users. These remain: not anonymous, seen lately, with a name, without the
    // identity, with a session in use, with metadata, a property or an API key, and blocked. A user
    // who has deleted all data only has a later version. The second app has fewer days than the
    // 29 days since it saw one user.
    #expect(left[0] == "a:1,2,3,4,5,6,7,9,10,12 b:1,2,4,5,6,7,9,10,12 c:3001")
    #expect(left[1] == "0 5983 housekeeping unused")
    #expect(again == 0)
  }

  @Test func `devices without users are deleted after a day`() async throws {
    let (left, again) = try await keepHouse(Self.devices, Queries.devices)
    #expect(left[0] == "30 30 60")
    #expect(again == 0)
  }

  @Test func `the test covers every table of user data`() async throws {
    let (left, _) = try await keepHouse("select 1", Queries.forgotten)
    #expect(left[0] == "")
  }

  @EventLoop func keepHouse(
    _ script: String,
    _ query: Statement<String>
  ) async throws -> ([String], Int) {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    try await connection.script(script)
    let database = Database(.patient(name))
    database.start()
    defer { database.stop() }
    _ = try await Housekeeping.run(database)
    let left = try await database.write(query)
    let rest = try await database.write(Queries.rest)
    let again = try await Housekeeping.run(database)
    return (left + rest, again.values.reduce(0, +))
  }
}
