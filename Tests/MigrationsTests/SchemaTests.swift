import Testing

/// Tests rules that hold for all tables and functions of the repository.
@Suite struct SchemaTests {
  @Test func `each table, view, type and function has a comment`() async throws {
    let place = try await Workspace.ofRepository()
    try await place.run("up")
    let uncommented = """
      select c.oid::regclass::text from pg_class c
      where relnamespace = current_schema()::regnamespace and relkind in ('r', 'v')
        and relname not like 'schema_migration%' and obj_description(c.oid, 'pg_class') is null
      union all
      select p.oid::regprocedure::text from pg_proc p
      where pronamespace = current_schema()::regnamespace
        and obj_description(p.oid, 'pg_proc') is null
      union all
      select t.oid::regtype::text from pg_type t join pg_class c on c.oid = typrelid
      where typnamespace = current_schema()::regnamespace and c.relkind = 'c'
        and obj_description(t.oid, 'pg_type') is null
      """
    #expect(try await place.sql(uncommented) == "")
    try await place.sql("create table t (); create function f() returns int language sql return 1")
    #expect(try await place.sql(uncommented) == "t\nf()")
  }

  /// The app of administrators needs its name.
  @Test func `an app with the name operators is reported with the cure`() async throws {
    let place = try await Workspace.ofRepository()
    try await place.run("to", "31")
    try await place.sql(
      "insert into apps (app_id, name) values ('0123456789abcdef01234567', 'operators')")
    let refused = try await place.run("up", status: 13)
    #expect(refused.errors.contains("an app has the name operators"), "\(refused.errors)")
    #expect(refused.errors.contains("update apps set name = "), "\(refused.errors)")
    try await place.sql("update apps set name = 'staff' where name = 'operators'")
    try await place.run("up")
    let names = try await place.sql("select name from apps order by name")
    #expect(names == "default\noperators\nstaff")
    try await place.run("to", "31")
    #expect(try await place.sql("select name from apps order by name") == "default\nstaff")
  }

  @Test func `ids compare by bytes, and the table that they identify checks them`() async throws {
    let place = try await Workspace.ofRepository()
    try await place.run("up")
    let ids = """
      from pg_attribute a join pg_class c on c.oid = attrelid
      where relnamespace = current_schema()::regnamespace and relkind = 'r' and attname ~ '_id$'
      """
    let others = "and (atttypid <> 'text'::regtype or attcollation <> '\"C\"'::regcollation)"
    #expect(try await place.sql("select relname, attname \(ids) \(others)") == "")
    let checked = try await place.sql(
      """
      select string_agg(attname, ' ' order by relname)
      \(ids) and exists (select from pg_constraint where conrelid = c.oid and contype = 'c'
        and conkey = array[attnum] and pg_get_constraintdef(oid) ~ '[0-9].*[]][{]')
      """)
    #expect(
      checked == "key_id app_id event_id flow_id authorization_id client_id device_id schema_id "
        + "event_id identity_id token_id import_id job_id stream_id mail_id mail_id merge_id passkey_id resource_server_id role_id index_id factor_id session_id "
        + "user_id delivery_id webhook_id"
    )
    let insertion = "insert into apps (app_id, name) values ('0123456789ABCDEF01234567', 'upper')"
    let refused = try await place.sql(
      """
      do $$ begin \(insertion); exception when check_violation then raise notice 'refused'; end $$;
      select count(*) from apps where name = 'upper'
      """)
    #expect(refused == "0")
  }

  /// Citus rejects functions that name a distributed table or take its row, unless they are written in
  /// PL/pgSQL and called alone, as those that remove audit events are.
  ///
  /// Constants may contain the words.
  @Test func `no function names a table`() async throws {
    let place = try await Workspace.ofRepository()
    try await place.run("up")
    let naming = """
      select string_agg(distinct proname, ' ' order by proname) from pg_proc p, pg_class c
      where pronamespace = current_schema()::regnamespace
        and relnamespace = current_schema()::regnamespace and relkind in ('r', 'v', 'c')
        and regexp_replace(pg_get_functiondef(p.oid), '''[^'']*''', '', 'g')
          ~ ('\\m' || relname || '\\M')
      """
    let exceptions = "forget_events move_events remove_event settle_events"
    #expect(try await place.sql(naming) == exceptions)
    let function =
      "create function f() returns text language sql"
      + " return (select min(name) from users)"
    #expect(try await place.sql("\(function); \(naming)") == "f \(exceptions)")
  }

  @Test func `the server's role adds audit events, and removes only old ones`() async throws {
    let place = try await Workspace.ofRepository()
    let role = "server_\(place.id)"
    try await place.sql("create role \(role)")
    try await place.run("up", "--grant-to", role)
    try await place.sql(
      """
      insert into apps (app_id, name) values (repeat('a', 24), 'a');
      insert into users (user_id, app_id, anonymous) values (repeat('1', 24), repeat('a', 24), true);
      set role \(role);
      -- New and old events of a user, of a deleted user, of the deployment, and of a deleted app.
      insert into audit (user_id, event_id, app_id, action, actor)
      select repeat(owner, 24),
        lpad(to_hex(extract(epoch from now() - interval '1 hour' * age)::bigint), 8, '0')
          || lpad(age::text, 16, '0'), repeat(app, 24), age::text, 'user'
      from (values ('1', 'a'), ('2', 'a'), ('0', '0'), ('b', 'b')) as o (owner, app),
        (values (1), (23), (25)) as e (age)
      """)
    for change in [
      "update audit set action = 'y'", "delete from audit", "truncate audit",
      "alter table audit owner to \(role)", "drop function remove_event(text, text)",
      "perform move_events(repeat('1', 24))", "perform move_events(repeat('a', 24))",
      "perform move_events(repeat('0', 24))",
    ] {
      try await place.sql(
        """
        set role \(role);
        do $$ begin \(change); raise exception 'allowed';
        exception when insufficient_privilege then null; end $$
        """)
    }
    let removed = """
      set role \(role);
      select user_id, action, remove_event(user_id, event_id) from audit where user_id = repeat('%', 24)
      order by event_id desc
      """
    for (owner, expected) in [("1", "fft"), ("0", "fft"), ("b", "ttt")] {
      let rows = try await place.sql(removed.replacing("%", with: owner)).split(separator: "\n")
      #expect(String(rows.compactMap(\.last)) == expected, "\(owner)")
    }
    // A table of the caller does not stand in for ours.
    let own = "create temp table audit (user_id text, event_id text, app_id text)"
    let none = try await place.sql("set role \(role); \(own); select remove_event('', '')")
    #expect(none == "f")
    // The events of a deleted user move to the app.
    try await place.sql("set role \(role); select move_events(repeat('2', 24))")
    let moved = """
      select count(*), bool_and(user_id = app_id), min(detail ->> 'former_user') from audit
      where app_id = repeat('a', 24) and user_id <> repeat('1', 24)
      """
    #expect(try await place.sql(moved) == "3|t|\(String(repeating: "2", count: 24))")
    // Events that wait for their publication stay.
    let settled = try await place.sql(
      """
      set role \(role);
      insert into audit (user_id, event_id, app_id, action, actor, pending)
      select repeat('3', 24), repeat('0', 23) || n, repeat('a', 24), action, 'user', true
      from (values (1, 'login'), (2, 'login'), (3, 'data_change'), (4, 'login')) as e (n, action);
      select remove_event(repeat('3', 24), repeat('0', 23) || '1');
      select settle_events(repeat('3', 24), array[repeat('0', 23) || '1']);
      select string_agg(right(event_id, 1) || pending, ' ' order by event_id) from audit
      where user_id = repeat('3', 24)
      """)
    #expect(settled.split(separator: "\n") == ["f", "1false 2true 3true 4true"])
    // The events of a deleted user lose their addresses, those of a user who exists do not.
    let forgotten = try await place.sql(
      """
      set role \(role);
      insert into audit (user_id, event_id, app_id, action, actor, address, agent)
      select repeat('4', 24), repeat('0', 23) || n, repeat('a', 24), action, actor, '192.0.2.1', 'x'
      from (values (1, 'login', 'user'), (2, 'user_delete', 'operator')) as e (n, action, actor);
      select forget_events(repeat('4', 24));
      select string_agg(coalesce(host(address), 'none'), ' ' order by event_id) from audit
      where user_id = repeat('4', 24)
      """)
    #expect(forgotten.split(separator: "\n") == ["none 192.0.2.1"])
    // A role that may only read calls no function.
    let reader = "reader_\(place.id)"
    let reading = "grant select on all tables in schema public to \(reader)"
    try await place.sql("create role \(reader); \(reading)")
    for change in [
      "perform remove_event('', '')", "perform move_events('')",
      "perform settle_events('', '{}')", "perform forget_events('')",
    ] {
      try await place.sql(
        """
        set session authorization \(reader);
        do $$ begin \(change); raise exception 'allowed';
        exception when insufficient_privilege then null; end $$
        """)
    }
    try await place.sql("drop owned by \(role), \(reader); drop role \(role); drop role \(reader)")
  }
}
