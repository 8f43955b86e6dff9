import TestSupport
import Testing

@Suite struct ErrorTests {
  @Test func `an edited, a missing and an out-of-order file have different errors`() async throws {
    let place = try await Workspace(threeFiles)
    try await place.run("up")
    try place.write("0003_c.sql", "-- migrate: up\nselect 1;\n-- migrate: down\n")
    let edited = try await place.run("up", status: 10).errors
    #expect(edited.contains("0003_c.sql was edited after it had been applied"))
    try await place.run("verify", status: 10)
    #expect(try await place.run("status").output.contains("0003  c  edited"))
    try place.write("0003_c.sql", threeFiles["0003_c.sql"] ?? "")
    place.remove("0002_b.sql")
    let missing = try await place.run("up", status: 12).errors
    #expect(missing.contains("version 2 (b) is applied, but its file is missing"))
    try await place.run("verify", status: 12)
    #expect(try await place.run("status").output.contains("0002  b  missing"))
    try place.write("0002_b.sql", threeFiles["0002_b.sql"] ?? "")
    try place.write("0005_e.sql", "-- migrate: up\nselect 1;\n-- migrate: down\n")
    try await place.run("up")
    try place.write("0004_d.sql", "-- migrate: up\nselect 1;\n-- migrate: down\n")
    let late = try await place.run("up", status: 11).errors
    #expect(late.contains("0004_d.sql is not applied, but version 5 is"))
    try await place.run("up", "--allow-out-of-order")
  }

  @Test func `a failing statement is reported with file, line and SQLSTATE, and rolled back`()
    async throws
  {
    let place = try await Workspace([
      "0001_a.sql": """
      -- migrate: up
      create table a ();
      select 'é',
        nothing;
      -- migrate: down
      """
    ])
    let errors = try await place.run("up", status: 13).errors
    #expect(
      errors.contains("0001_a.sql:4: SQLSTATE 42703: column \"nothing\" does not exist"),
      "\(errors)"
    )
    #expect(errors.contains("nothing of this file was done"))
    #expect(try await place.sql("select to_regclass('a') is null") == "t")
    #expect(try await place.sql("select count(*) from schema_migrations") == "0")
  }

  @Test func `a constraint violation at commit is a failed statement`() async throws {
    let place = try await Workspace([
      "0001_a.sql": """
      -- migrate: up
      create table a (id int primary key, other int references a deferrable initially deferred);
      insert into a values (1, 2);
      -- migrate: down
      """
    ])
    let errors = try await place.run("up", status: 13).errors
    #expect(errors.contains("0001_a.sql: SQLSTATE 23503"), "\(errors)")
    #expect(try await place.sql("select to_regclass('a') is null") == "t")
  }

  @Test func `a file that ends its transaction is refused and not recorded`() async throws {
    for end in ["commit;", "rollback;", "commit; begin;", "rollback; begin;"] {
      let place = try await Workspace([
        "0001_a.sql": "-- migrate: up\ncreate table a ();\n\(end)\n-- migrate: down\n"
      ])
      let errors = try await place.run("up", status: 16).errors
      let words = "0001_a.sql: it ended the transaction of dossier-migrate"
      #expect(errors.contains(words), "\(errors)")
      #expect(try await place.sql("select count(*) from schema_migrations") == "0")
    }
  }

  @Test func `a file without a transaction has one statement`() async throws {
    let place = try await Workspace([
      "0001_a.sql": """
      -- migrate: no transaction
      -- migrate: up
      create table a ();
      create table b ();
      -- migrate: down
      """
    ])
    let errors = try await place.run("up", status: 13).errors
    #expect(errors.contains("cannot insert multiple commands into a prepared statement"))
    #expect(try await place.sql("select to_regclass('a') is null") == "t")
    #expect(try await place.run("status").output == "0001  a  pending\n")
  }

  @Test func `an incomplete index is dropped before it is created again`() async throws {
    let place = try await Workspace([
      "0001_a.sql": """
      -- migrate: up
      create table a (id int);
      insert into a values (1), (1);
      -- migrate: down
      drop table a;
      """,
      "0002_b.sql": """
      -- migrate: no transaction
      -- migrate: up
      -- One row for each id.
      create unique index concurrently a_by_id on a (id);
      -- migrate: down
      drop index concurrently a_by_id;
      """,
    ])
    let errors = try await place.run("up", status: 13).errors
    #expect(errors.contains("0002_b.sql: SQLSTATE 23505"), "\(errors)")
    #expect(errors.contains("this file must run again"))
    #expect(try await place.run("status").output.hasSuffix("0002  b  pending\n"))
    let plan = try await place.run("plan").output
    #expect(plan.contains("drop index concurrently public.a_by_id;"))
    #expect(try await place.run("up", status: 13).errors.contains("dropping the incomplete index"))
    try await place.sql("delete from a where ctid = '(0,1)'")
    try await place.run("up")
    let valid = "select indisvalid from pg_index where indrelid = 'a'::regclass"
    #expect(try await place.sql(valid) == "t")
    // The run undid the file, but could not record it.
    try await place.sql(
      "drop index a_by_id; insert into schema_migration_progress values (2, now())"
    )
    #expect(try await place.run("status").output.hasPrefix("0001  a  applied"))
    #expect(try await place.run("status").output.contains("0002  b  interrupted"))
    #expect(try await place.run("down").output == "1 down; at version 1\n")
    // The run created the index, but could not record it.
    try await place.sql(
      "create index a_by_id on a (id); insert into schema_migration_progress values (2, now())"
    )
    #expect(try await place.run("up").output == "1 up; at version 2\n")
    // A foreign index of this name is not an incomplete one.
    try await place.run("down")
    try await place.sql("create index a_by_id on a (id)")
    #expect(try await place.run("up", status: 13).errors.contains("SQLSTATE 42P07"))
  }

  @Test func `a run waits for the lock only up to --lock-timeout`() async throws {
    let place = try await Workspace([
      "0001_a.sql": "-- migrate: up\nselect pg_sleep(100000);\n-- migrate: down\n"
    ])
    let first = try place.start(["up"])
    while !first.errors.contains("up 0001_a.sql") {
      try #require(!first.hasEnded, "\(first.errors)")
      try await Task.sleep(for: .milliseconds(10))
    }
    let errors = try await place.run("up", "--lock-timeout", "1", status: 14).errors
    #expect(errors.contains("another run still held the lock after 1 s (server process"))
    try await place.sql(
      """
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and query ~ '^select pg_sleep'
      """)
    #expect(await first.end() == 20)
    #expect(first.errors.contains("run it again"))
  }

  @Test func `connection, file and folder errors differ`() async throws {
    let place = try await Workspace(database: "host=/nowhere dbname=none", threeFiles)
    #expect(try await place.run("up", status: 15).errors.contains("cannot connect"))
    try place.write("0004_d.sql", "-- migrate: up\nselect 1;\n")
    #expect(try await place.run("up", status: 16).errors.contains("0004_d.sql: there is no line"))
    try place.write("0004_d.sql", threeFiles["0003_c.sql"] ?? "")
    try place.write("0004_e.sql", threeFiles["0003_c.sql"] ?? "")
    #expect(try await place.run("up", status: 16).errors.contains("has this version too"))
    let program = try TestProgram(
      Workspace.command, ["status", "--migrations", "/nowhere", "--database", place.conninfo]
    )
    #expect(await program.end() == 21)
    #expect(program.errors.contains("cannot read the folder /nowhere"))
    try await place.run("up", "--lock-timeout", "-1", status: 64)
  }

  @Test func `an irreversible file and an unknown version are refused before anything is done`()
    async throws
  {
    var files = threeFiles
    files["0001_a.sql"] =
      "-- migrate: up\ncreate table a (id int primary key);\n"
      + "-- migrate: irreversible the data would be lost\n"
    let place = try await Workspace(files)
    try await place.run("up")
    let errors = try await place.run("to", "0", status: 19).errors
    #expect(errors.contains("0001_a.sql is irreversible: the data would be lost"))
    #expect(try await place.sql("select count(*) from schema_migrations") == "3")
    let unknown = try await place.run("to", "9", status: 22).errors
    #expect(unknown.contains("no migration has version 9"))
  }

  @Test func `a missing and an old pg_dump are reported`() async throws {
    let place = try await Workspace(threeFiles)
    let missing = try await place.run("dump", "--pg-dump", "/nowhere/pg_dump", status: 18).errors
    #expect(missing.contains("there is no pg_dump at /nowhere/pg_dump; install postgresql-client"))
    let text = "echo pg_dump \\(PostgreSQL\\) 9.6.1"
    try await TestProgram.write(script: text, to: "\(place.folder)/pg_dump")
    let old = try await place.run("dump", "--pg-dump", "\(place.folder)/pg_dump", status: 18).errors
    #expect(old.contains("is of version 9, older than the server's"))
  }
}
