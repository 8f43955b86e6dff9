import FoundationEssentials
import Migrations
import TestSupport
import Testing

/// Tests what `verify` compares.
@Suite struct VerifyTests {
  /// One object of each kind that a schema can contain.
  static let kinds = """
    -- migrate: up
    create domain word as text check (value <> '');
    create type mood as enum ('good', 'bad');
    create type pair as (one int, other int);
    create table a (
      id int primary key, word word not null default 'x', size int generated always as (id + 1) stored
    );
    create table b (id int references a, other int check (other > 0), unique (other));
    create index a_by_word on a (lower(word)) where id > 1;
    create view seen with (security_barrier = true) as select id, word from a where id > 2;
    create function parsed(n int) returns int language sql immutable begin atomic
      select n + 1;
    end;
    create function quoted(n int) returns int language sql immutable as 'select n + 1';
    create function called(n int) returns int language plpgsql as 'begin return n; end';
    create sequence numbers;
    -- migrate: down
    """

  @Test(
    arguments: [
      ("alter table a add extra int", "+ table a, column extra: integer"),
      ("alter table b drop other", "- table b, column other: integer"),
      ("alter table b alter other type bigint", "+ table b, column other: bigint"),
      ("alter table a alter word set default 'y'", "default 'y'::text"),
      ("alter table a alter word drop default", "+ table a, column word: word not null"),
      ("alter table b alter id set not null", "+ table b, column id: integer not null"),
      ("alter table b alter id set compression lz4", nil),
      ("alter table a alter id set statistics 1", ""),
      ("alter table b drop constraint b_other_check", "- table b, constraint b_other_check: CHECK"),
      ("alter table b drop constraint b_id_fkey", "- table b, constraint b_id_fkey: FOREIGN KEY"),
      ("alter table b disable trigger all", "REFERENCES a(id) disabled"),
      ("alter table b drop constraint b_other_key", "- table b, constraint b_other_key: UNIQUE"),
      ("drop index a_by_word", "- table a, index a_by_word: CREATE INDEX"),
      ("create index other on b (id)", "+ table b, index other: CREATE INDEX"),
      (
        "update pg_index set indisvalid = false where indexrelid = 'a_by_word'::regclass", "invalid"
      ),
      ("create or replace view seen as select id, word from a where id > 3", "id > 3)"),
      (
        "create or replace function parsed(n int) returns int language sql immutable return n + 2",
        "+ RETURN (n + 2)"
      ),
      (
        "create or replace function quoted(n int) returns int language sql immutable as 'select n'",
        "+ select n"
      ),
      ("alter function called(int) strict", "language plpgsql volatility v parallel u strict"),
      ("alter function called(int) security definer", "security definer"),
      ("alter function called(int) set work_mem = '1MB'", "{work_mem=1MB}"),
      ("drop function called", "- function called(n integer)"),
      ("create function called() returns int language sql return 1", "+ function called()"),
      ("alter domain word drop constraint word_check", "- domain word, constraint word_check"),
      ("alter domain word set default 'z'", "+ domain word: "),
      ("alter type mood add value 'fair'", "'good', 'bad', 'fair'"),
      ("alter type pair add attribute third int", "+ type pair, column third: 3 integer"),
      ("alter sequence numbers cycle", "+ sequence numbers: "),
      ("create table c ()", "+ table c: "),
      ("create operator === (function = int4eq, leftarg = int, rightarg = int)", "+ operator ==="),
      ("create statistics s on id, word from a", "+ statistics object s"),
      (
        "create trigger t before update on a for each row execute function "
          + "suppress_redundant_updates_trigger()", "+ table a, trigger t: "
      ),
      ("create rule r as on delete to a do instead nothing", "+ table a, rule r: "),
      ("alter table a enable row level security", "row security"),
      ("create policy p on a using (id > 0)", "+ table a, policy p: "),
      ("grant select on a to public", "+ table a, privileges of everybody: SELECT"),
      ("revoke execute on function parsed from public", "- function parsed(n integer), privileges"),
      ("grant update (word) on a to public", "+ table a, column word, privileges of everybody"),
      ("revoke delete on a from current_user", "+ table a, privileges of the owner: INSERT"),
      ("alter view seen owner to pg_monitor", "- view seen, privileges of the owner: DELETE"),
    ] as [(String, String?)]
  )
  func `verify finds each change of the schema`(change: String, found: String?) async throws {
    let place = try await Workspace(["0001_a.sql": VerifyTests.kinds])
    try await place.run("up")
    try await place.run("verify")
    guard let found else { return }
    try await place.sql(change)
    let errors = try await place.run("verify", status: found.isEmpty ? 0 : 17).errors
    #expect(found.isEmpty || errors.contains(found), "\(errors)")
  }

  @Test func `the privileges of the server's role are compared if it is given`() async throws {
    let place = try await Workspace(threeFiles)
    let (role, other) = ("server_\(place.id)", "reader_\(place.id)")
    try await place.sql("create role \(role); create role \(other)")
    try await place.run("up", "--grant-to", role)
    let granted = try await place.run("verify", "--grant-to", role).output
    #expect(granted == "3 migrations are applied, and the schema matches them\n")
    // Privileges of other roles are not compared.
    try await place.sql("grant select on a to \(other)")
    try await place.run("verify", "--grant-to", role)
    for (change, found) in [
      ("revoke insert on c from \(role)", "+ table c, privileges of the server: DELETE, SELECT"),
      ("grant truncate on a to \(role)", "SELECT, TRUNCATE, UPDATE"),
      ("grant insert on schema_migrations to \(role)", "privileges of the server: INSERT, SELECT"),
      ("grant create on schema public to \(role)", "+ schema, privileges of the server: CREATE"),
    ] {
      try await place.sql(change)
      let errors = try await place.run("verify", "--grant-to", role, status: 17).errors
      #expect(errors.contains(found), "\(errors)")
      try await place.run("verify")
    }
    try await place.sql("drop owned by \(role), \(other); drop role \(role); drop role \(other)")
  }

  @Test func `verify leaves nothing behind after success and failure`() async throws {
    let place = try await Workspace(threeFiles)
    try await place.run("up")
    let schemas = "select string_agg(nspname, ' ' order by nspname) from pg_namespace"
    let (before, names) = (try await place.catalog(), try await place.sql(schemas))
    try await place.run("verify")
    #expect(try await place.catalog() == before)
    try await place.sql("drop table c")
    try await place.run("verify", status: 17)
    #expect(try await place.sql(schemas) == names)
  }

  @Test func `verify reports a missing privilege to create a schema`() async throws {
    let place = try await Workspace(threeFiles)
    try await place.run("up")
    let role = "poor_\(place.id)"
    try await place.sql("create role \(role) login; grant select on schema_migrations to \(role)")
    let poor = try await Workspace(
      database: place.conninfo.replacing("user=postgres", with: "user=\(role)"), threeFiles
    )
    try await place.sql("grant select on schema_migration_progress to \(role)")
    let errors = try await poor.run("verify", status: 13).errors
    #expect(errors.contains("SQLSTATE 42501"), "\(errors)")
    #expect(errors.contains("grant the role CREATE on the database"), "\(errors)")
    try await place.sql("drop owned by \(role); drop role \(role)")
  }

  // MARK: Versions of PostgreSQL

  /// Compares dumps of one schema by two minor versions of the server.
  @Test(arguments: ["15.18", "15.20"])
  func `a dump by another minor version is equal`(version: String) async throws {
    let words = try recorded("0001_words.sql")
    let made = try await Workspace(["0001_words.sql": words])
    try await made.run("up")
    let dump = try recorded("\(version).sql")
    #expect(try recorded("15.18.sql") != recorded("15.20.sql"))
    let restored = try await made.restored(from: dump)
    try await restored.run("verify")
    let other = dump.replacing("SET rank = 11", with: "SET rank = 12")
    let changed = try await made.restored(from: other).run("verify", status: 17).errors
    #expect(changed.contains("function forget(a_word text)"), "\(changed)")
  }

  private func recorded(_ name: String) throws -> String {
    let folder = "/" + #filePath.split(separator: "/").dropLast().joined(separator: "/")
    return try String(contentsOfFile: "\(folder)/dumps/\(name)", encoding: .utf8)
  }

  @Test func `the migrations produce the committed schema`() async throws {
    let place = try await Workspace.ofRepository()
    try await place.run("up")
    try await place.run("verify")
    try await place.restored(from: try place.text(of: "schema.sql")).run("verify")
    try await place.run("to", "0")
    try await place.run("up")
    try await place.run("verify")
  }

  @Test func `no migration names a schema or creates an extension`() throws {
    let folder = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    for migration in try MigrationFolder("\(folder)/migrations").migrations() {
      for script in [migration.up, migration.down] {
        let words = script.text.lowercased()
        #expect(!words.contains("public."), "\(migration.file)")
        #expect(!words.contains("create extension"), "\(migration.file)")
      }
    }
  }

  @Test func `a difference lists the differing lines up to a limit`() {
    let old = Catalog(facts: ["a": "one\ntwo", "b": "same", "c": "gone"])
    let new = Catalog(facts: ["a": "one\nthree", "b": "same", "d": "come"])
    #expect(old.difference(old) == nil)
    #expect(old.difference(new) == "  a:\n  - two\n  + three\n- c: gone\n+ d: come")
    #expect(old.difference(new, limit: 1) == "  a:\nand 4 more lines")
    let restored = Catalog(facts: ["a": "one\nthree", "b": "other", "c": "gone", "d": "come"])
    #expect(old.difference(new, restored: restored) == "- c: gone")
  }
}

extension Workspace {
  /// A database that a dump was restored into, with the ledger of this one.
  func restored(from dump: String) async throws -> Workspace {
    let other = try await Workspace()
    for name in try FileManager.default.contentsOfDirectory(atPath: folder)
    where name.first?.isNumber == true { try other.write(name, try text(of: name)) }
    // The first lines of a dump, which ours omit.
    let head = "set check_function_bodies = off; select set_config('search_path', '', false);"
    try other.write("dump.txt", "\(head)\n\(dump)")
    try await other.run("to", "0")
    let program = try TestProgram(
      TestCluster.tool("psql"),
      ["-Xq", "-v", "ON_ERROR_STOP=1", "-d", other.conninfo, "-f", "\(other.folder)/dump.txt"]
    )
    #expect(await program.end() == 0, "\(program.errors)")
    let rows = try await sql("select json_agg(m) from schema_migrations m")
    try await other.sql(
      """
      insert into schema_migrations select * from json_populate_recordset(null::schema_migrations,
        $rows$\(rows)$rows$)
      """)
    return other
  }
}
