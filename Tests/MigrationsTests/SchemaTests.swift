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
        and conkey = array[attnum] and pg_get_constraintdef(oid) like '%[0-9a-f]{24}%')
      """
    )
    #expect(
      checked == "key_id app_id event_id flow_id authorization_id client_id device_id schema_id "
        + "identity_id import_id mail_id resource_server_id role_id index_id factor_id session_id "
        + "user_id"
    )
    let insertion = "insert into apps (app_id, name) values ('0123456789ABCDEF01234567', 'upper')"
    let refused = try await place.sql(
      """
      do $$ begin \(insertion); exception when check_violation then raise notice 'refused'; end $$;
      select count(*) from apps where name = 'upper'
      """
    )
    #expect(refused == "0")
  }

  /// Citus rejects functions that name a distributed table or take its row.
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
    #expect(try await place.sql(naming) == "")
    let function =
      "create function f() returns text language sql"
      + " return (select min(name) from users)"
    #expect(try await place.sql("\(function); \(naming)") == "f")
  }
}
