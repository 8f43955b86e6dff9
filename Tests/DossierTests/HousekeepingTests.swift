import Transfer
import EventLoop
import Postgres
import TestSupport
import Testing

@Suite struct HousekeepingTests {
  init() { LoopThread.start() }

  private static let old = """
    insert into users (user_id, app_id, anonymous) select repeat('1', 24), app_id, true from apps
      where name = 'default';
    insert into audit (user_id, event_id, app_id, at, action, actor)
    select repeat('1', 24), lpad(g::text, 24, '0'), app_id, now() - interval '1 day' * (365 + g % 2), 'x',
      'user'
    from apps, generate_series(0, 4999) g where name = 'default';
    insert into audit (user_id, event_id, app_id, action, actor)
    select repeat('1', 24), repeat('f', 24), app_id, 'x', 'user' from apps where name = 'default';
    insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
      expires_at, ended_at)
    select repeat('1', 24), lpad(g::text, 24, '0'), app_id, repeat('2', 24), 'anonymous', '', '',
      now() + interval '10 days' * (g - 4) + interval '1 hour', case g when 9 then now() - interval '31 days' end
    from apps, generate_series(0, 9) g where name = 'default';
    insert into rate_limits (app_id, subject, theoretical_arrival_at)
    select app_id, int4send(g), now() + interval '1 hour' * (2 * g - 1)
    from apps, generate_series(0, 1) g where name = 'default';
    insert into mail_tokens (user_id, purpose, token_hash, email, expires_at)
    values (repeat('1', 24), 'verify', '', 'a@b.c', now() - interval '1 second'),
      (repeat('1', 24), 'reset', '', 'a@b.c', now() + interval '1 hour');
    insert into mail_deliveries (user_id, mail_id, app_id, kind, recipient, recipient_hash, attempts,
      accepted, created_at, ended_at)
    select app_id, lpad(g::text, 24, '0'), app_id, 'code', '', '', 1, true, now(),
      now() - interval '1 day' * g
    from apps, generate_series(6, 8) g where name = 'default';
    insert into authentication_flows (place, app_id, flow_id, purpose, tries, expires_at)
    select repeat('1', 24), app_id, lpad(g::text, 24, '0'), 'sign_in', 5, now() + interval '1 hour' * (g - 1.5)
    from apps, generate_series(0, 2) g where name = 'default';
    insert into authorizations (
      app_id, authorization_id, client_id, request, browser_hash, code_hash, expires_at)
    select app_id, lpad(abs(hours)::text, 24, '0'), '', '{}', '', code, now() + interval '1 hour' * hours
    from apps, (values (1, null), (-2, null), (-25, null), (-26, ''::bytea)) as s (hours, code)
    where name = 'default';
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id, reserved_until)
    select app_id, 'email', s.subject, repeat('1', 24), repeat('2', 24), s.until
    from apps, (values ('present', null), ('reserved', now() + interval '1 hour'),
      ('free', now() - interval '1 second')) as s (subject, until)
    where name = 'default';
    insert into additional_subjects (user_id, provider, subject, reserved_until)
    values (repeat('1', 24), 'auth0', 'known', null),
      (repeat('1', 24), 'email', 'reserved', now() + interval '1 hour'),
      (repeat('1', 24), 'email', 'free', now() - interval '1 second');
    insert into hosts (name, version, master_key, settings, seen_at)
    values ('gone', '', '', '{}', now() - interval '8 days'),
      ('down', '', '', '{}', now() - interval '6 days');
    """

  /// One document for each user, with this number of versions, all written when the app kept 10.
  private static let versions = """
    insert into apps (app_id, name, settings) values
      (repeat('a', 24), 'three', '{"document_versions_kept": 3}'), (repeat('b', 24), 'none', '{}'),
      (repeat('c', 24), 'ten', '{"document_versions_kept": 10}');
    insert into users (user_id, app_id, anonymous)
    select app || lpad(g::text, 23, '0'), repeat(app, 24), true
    from generate_series(1, 400) g, unnest('{a,b,c}'::text[]) app;
    insert into documents (user_id, kind, body, version)
    select user_id, 'metadata', '{}', 20 from users;
    insert into document_versions (user_id, kind, version, app_id, body, actor, kept)
    select user_id, 'metadata', v, app_id, '{}', 'user', 10
    from users, generate_series(11, 20) v;
    -- Housekeeping ran when the app kept 2 versions. After that, it kept 10 for a while.
    update document_versions set kept = 2 where user_id like 'a%1' and version < 19;
    """

  /// Events of 8 and of 6 days ago, in an app that keeps changes of users' own data for a week.
  private static let changes = """
    insert into apps (app_id, name, settings)
    values (repeat('a', 24), 'week', '{"data_event_days": 7}');
    insert into audit (user_id, event_id, app_id, at, action, actor)
    select repeat('1', 24),
      lpad(to_hex(extract(epoch from now() - interval '1 day' * days)::bigint), 8, '0')
        || lpad(row_number() over ()::text, 16, '0'),
      repeat('a', 24), now() - interval '1 day' * days, action, actor
    from (values (8, 'data_change', 'user'), (6, 'data_change', 'user'),
      (8, 'data_change', 'operator'), (8, 'login', 'user')) as e (days, action, actor);
    """

  /// Users 1 to 3: deleted, merged into another, and there; each with an event of an hour ago.
  private static let deletions = """
    insert into users (user_id, app_id, anonymous) select repeat('3', 24), app_id, true from apps
      where name = 'default';
    insert into audit (user_id, event_id, app_id, action, actor, address, detail)
    select repeat(u, 24),
      lpad(to_hex(extract(epoch from now() - interval '1 hour')::bigint), 8, '0')
        || lpad(row_number() over ()::text, 16, '0'),
      app_id, action, actor, '192.0.2.1', detail::jsonb
    from apps, (values ('1', 'login', 'user', '{}'), ('1', 'user_delete', 'user', '{}'),
      ('2', 'login', 'user', '{}'), ('2', 'user_delete', 'system', '{"linked_to": "x"}'),
      ('3', 'login', 'user', '{}')) as e (u, action, actor, detail)
    where name = 'default';
    """

  private enum Queries {
    static let addresses = Statement<String>(
      "test.addresses",
      """
      select string_agg(left(user_id, 1) || ' ' || action || ' ' || coalesce(host(address), '-'), ', '
        order by event_id)
      from audit
      """)
    static let changes = Statement<String>(
      "test.changes",
      """
      select string_agg(action || ' ' || actor || ' ' || date_part('day', now() - at), ', '
        order by event_id)
      from audit where app_id = repeat('a', 24)
      """)
    static let versions = Statement<String>(
      "test.versions",
      """
      select string_agg(line, ' ' order by line) from (
        select name || ':' || count(distinct user_id) || ':' || min(v.version) || '-' || max(v.version)
          || ':' || count(*) || ':' || max(kept) as line
        from document_versions v join apps a using (app_id) group by name) x
      """)
    static let left = Statement<String>(
      "test.left",
      """
      select (select count(*) from audit) || ' ' || (select count(*) from sessions) || ' '
        || (select count(*) from rate_limits) || ' ' || (select count(*) from mail_tokens) || ' '
        || (select count(*) from mail_deliveries) || ' '
        || (select count(*) from authentication_flows) || ' '
        || (select count(*) from authorizations) || ' '
        || (select string_agg(subject, '+' order by subject) from identity_subjects) || ' '
        || (select string_agg(subject, '+' order by subject) from additional_subjects) || ' '
        || (select name from hosts)
      """)
  }

  @Test func `only unusable data is deleted`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let (left, again) = try await keepHouse(name, Self.old, Queries.left)
    // The deleted sessions expired 40 days ago and ended 31 days ago.
    #expect(left == "1 8 1 1 1 1 2 present+reserved known+reserved down")
    #expect(again.removed == [:] && again.faults == [])
  }

  @Test func `a task that fails stops no other task`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let (left, report) = try await keepHouse(name, without: "mail_tokens")
    #expect(left == "1 8 1 2 1 1 2 present+reserved known+reserved down")
    #expect(report.faults.count == 1)
    #expect(report.faults.allSatisfy { $0.hasPrefix("maintenance.mail_tokens: ") })
  }

  @Test func `versions beyond the app's number are deleted`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let (left, again) = try await keepHouse(name, Self.versions, Queries.versions)
    #expect(left == "ten:400:11-20:4000:10 three:400:18-20:1200:3")
    #expect(again.removed == [:] && again.faults == [])
  }

  @Test func `changes of users' own data are deleted after the days of the app`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let (left, _) = try await keepHouse(name, Self.changes, Queries.changes)
    #expect(left == "data_change operator 8, login user 8, data_change user 6")
  }

  @Test func `events of deleted users lose addresses that the deletion has left`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let (left, again) = try await keepHouse(name, Self.deletions, Queries.addresses)
    let kept = "2 login 192.0.2.1, 2 user_delete 192.0.2.1, 3 login 192.0.2.1"
    #expect(left == "1 login -, 1 user_delete -, \(kept)")
    #expect(again.removed == [:] && again.faults == [])
  }

  /// Runs the maintenance while a table has another name.
  @EventLoop func keepHouse(
    _ name: String, without table: String
  ) async throws -> (String, MaintenanceReport) {
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    try await connection.script(Self.old)
    try await connection.script("alter table \(table) rename to gone")
    let database = Database(.patient(name))
    database.start()
    defer { database.stop() }
    let report = await Maintenance(database).run()
    try await connection.script("alter table gone rename to \(table)")
    return (try await database.write(Queries.left)[0], report)
  }

  /// Runs the maintenance twice on some rows.
  ///
  /// - Returns: what a query finds after the first run, and the report of the second run.
  @EventLoop func keepHouse(
    _ name: String, _ rows: String, _ query: Statement<String>
  ) async throws -> (String, MaintenanceReport) {
    let connection = try await Connection.open(.patient(name))
    defer { connection.close() }
    try await connection.script(rows)
    let database = Database(.patient(name))
    database.start()
    defer { database.stop() }
    let first = await Maintenance(database).run()
    #expect(first.faults == [])
    let left = try await database.write(query)[0]
    return (left, await Maintenance(database).run())
  }
}
