import Transfer
import EventLoop
import Postgres
import TestSupport
import Testing

/// Anonymous users without data, and devices without users.
@Suite struct UnusedTests {
  init() { LoopThread.start() }

  /// The reasons to keep a user, by the number of the user that has only this reason.
  private static let reasons = [
    1: "is not anonymous", 2: "was seen yesterday", 3: "was seen 29 days ago", 4: "has a name",
    5: "has no identity", 6: "has a session in use", 7: "has metadata",
    8: "had custom data", 9: "has a property", 10: "has an API key", 11: "has an old version",
    12: "is blocked",
  ]

  /// The users of three apps, where each user without a reason is like user 0.
  private static let users = """
    create table reasons (g integer, reason text);
    insert into reasons values
      \(reasons.map { "(\($0), '\($1)')" }.joined(separator: ", "));
    delete from apps;
    insert into apps (app_id, name, settings) values
      (repeat('a', 24), 'usual', '{}'), (repeat('b', 24), 'short', '{"anonymous_user_retention_days": 10}'),
      (repeat('c', 24), 'never', '{"anonymous_user_retention_days": 0}');
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
    select app_id, provider, subject, user_id, identity_id from identities
    where provider <> 'anonymous';
    update users set foreign_id = 'auth0|' || user_id where user_id = someone(left(user_id, 1), 20);
    insert into identity_subjects (app_id, provider, subject, user_id, identity_id)
    select app_id, 'auth0', foreign_id, user_id, user_id from users where foreign_id is not null;
    insert into sessions (user_id, session_id, app_id, device_id, provider, scope, refresh_salt,
      refreshed_at, expires_at)
    select user_id, user_id, app_id, user_id, 'anonymous', '', '',
      case when user_id = someone(left(user_id, 1), 6) then now() - interval '1 day'
        else now() - interval '31 days' end, now() + interval '29 days'
    from users;
    insert into documents (user_id, kind, body, version)
    select someone(app, 7), 'metadata', '{}', 1
    from unnest('{a,b,c}'::text[]) app;
    insert into documents (user_id, kind, body, version, deleted_at)
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
    -- The device lists a user who has an account there, or not any more.
    update devices set user_ids = array[repeat('b', 24), repeat('a', 24)]
    where device_id like '%02' or device_id like '%03';
    insert into device_accounts (user_id, device_id)
    select repeat('a', 24), device_id from devices where device_id like '%02';
    """

  private enum Queries {
    static let users = Statement<String>(
      "test.users",
      """
      select distinct left(user_id, 1) || ' ' || coalesce(reason, 'is unused')
      from users left join reasons on g = right(user_id, 4)::integer
      """)
    static let deletions = Statement<String>(
      "test.deletions",
      """
      select format('%s by %s: %s', count(*), actor, detail ->> 'reason') from audit
      where action = 'user_delete' group by actor, detail ->> 'reason'
      """)
    static let orphans = Statement<Int>(
      "test.orphans",
      """
      select count(*) from identity_subjects i
      where not exists (select from users u where u.user_id = i.user_id)
      """)
    static let devices = Statement<String>(
      "test.devices",
      """
      select format('%s seen in the last day, %s with a user, %s in all',
        count(*) filter (where device_id like '%01'), count(*) filter (where device_id like '%02'),
        count(*)) from devices
      """)
    static let forgotten = Statement<String>(
      "test.forgotten",
      """
      select name from data d
      where not exists (select from users u where u.user_id = d.user_id) order by name
      """)
    static let superfluous = Statement<Int>(
      "test.superfluous",
      "select count(*) from users u where not exists (select from data d where d.user_id = u.user_id)"
    )
  }

  @Test func `anonymous users without data who were not seen for the app's days are removed`()
    async throws
  {
    try await keepHouse(Self.users) { database in
      let left = Set(try await database.write(Queries.users))
      // The data of user 8 is deleted. Only the version of user 11 shows that it had data.
      let kept = Set(Self.reasons.values).subtracting(["had custom data", "has an old version"])
      let sooner = kept.subtracting(["was seen 29 days ago"])
      // App `b` keeps users for 10 days, `c` forever.
      let all = Self.reasons.values + ["is unused"]
      let expected = kept.map { "a \($0)" } + sooner.map { "b \($0)" } + all.map { "c \($0)" }
      #expect(left == Set(expected))
      // Each app had 3001 users.
      let removed = 3001 - kept.count + 3001 - sooner.count
      let deletions = try await database.write(Queries.deletions)
      #expect(deletions == ["\(removed) by system: unused"])
      let orphans = try await database.write(Queries.orphans)
      #expect(orphans == [0])
    }
  }

  @Test func `devices without users are removed after a day`() async throws {
    try await keepHouse(Self.devices) { database in
      let left = try await database.write(Queries.devices)
      #expect(left == ["30 seen in the last day, 30 with a user, 60 in all"])
    }
  }

  @Test func `a run of few pages continues where the last one ended`() async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    // Of three pages of devices, only the last has unused ones.
    let used = "update devices set last_seen_at = now() where device_id <= lpad('2000', 24, '0')"
    let removed = try await removals(name, Self.devices + used, runs: 6)
    #expect(removed.filter { $0 > 0 } == [980])
  }

  /// Returns the numbers of devices that runs of one page each have removed.
  @EventLoop private func removals(
    _ name: String, _ script: String, runs: Int
  ) async throws -> [Int] {
    let database = try await Database.started(on: name, after: script)
    defer { database.stop() }
    let maintenance = Maintenance(database, pages: 1)
    var removed: [Int] = []
    for _ in 0..<runs {
      let report = await maintenance.run()
      removed.append(report.removed["maintenance.devices"] ?? 0)
    }
    return removed
  }

  /// Each user has rows in one table, and further users have none.
  private static let data = """
    \(FullTables.fill(apps: 1))
    create table data as
    select lpad(to_hex(row_number() over ()), 24, '0') as user_id, name from (
      select conrelid::regclass::text as name
      from pg_constraint where contype = 'f' and confrelid = 'users'::regclass
      union all select 'authentication_flows') as t
    -- What every user has, what follows from an identity or a document, and what operators give a
    -- guest, who does not come back.
    where name not in ('user_origins', 'consents', 'device_accounts', 'identities', 'mail_tokens',
      'search_values', 'user_permissions', 'user_roles');
    do $$
    declare kept data;
    begin
      for kept in select * from data loop
        execute format('delete from %I where %I <> %L', kept.name,
          case kept.name when 'authentication_flows' then 'place' else 'user_id' end, kept.user_id);
      end loop;
    end $$;
    update users set email = null, name = null, created_at = now() - interval '1 year',
      last_login_at = now() - interval '1 year';
    """

  @Test func `a row in any table of user data keeps the user`() async throws {
    try await keepHouse(Self.data) { database in
      let forgotten = try await database.write(Queries.forgotten)
      #expect(forgotten == [])
      let superfluous = try await database.write(Queries.superfluous)
      #expect(superfluous == [0], "users without a row stay")
    }
  }

  /// Runs the maintenance on a database, then the checks; another run finds nothing to remove.
  @EventLoop private func keepHouse(
    _ script: String, _ check: @EventLoop (Database) async throws -> Void
  ) async throws {
    let name = try await TestCluster.shared.createMigratedDatabase()
    let database = try await Database.started(on: name, after: script)
    defer { database.stop() }
    _ = await Maintenance(database).run()
    try await check(database)
    let again = await Maintenance(database).run()
    #expect(again.removed == [:] && again.faults == [])
  }
}
