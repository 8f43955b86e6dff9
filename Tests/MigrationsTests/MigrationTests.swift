import Migrations
import Testing

@Suite struct MigrationTests {
  @Test func `a file is split at its markers`() throws {
    let migration = try Migration(
      file: "0012_some-name.sql",
      text: "-- about\n\n-- migrate: up\nselect 1;\n\nselect 2;\n-- migrate: down\nselect 3;\n"
    )
    #expect(migration.version == 12)
    #expect(migration.name == "some-name")
    #expect(migration.isTransactional)
    #expect(migration.up == SQLScript(text: "select 1;\n\nselect 2;\n", line: 4))
    #expect(migration.down.line == 8)
    #expect(migration.checksum == Migration.checksum("select 1;\n\nselect 2;\nselect 3;\n\n"))
  }

  @Test func `a checksum is SHA-256 in hexadecimal`() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    #expect(Migration.checksum("abc") == abc)
  }

  @Test(arguments: [
    ("select 1;\nselect 2", ["select 1;", "\nselect 2"]),
    (
      "-- a; b\nselect 1; /* c; /* d; */ ; */ select 2;\n-- end;\n",
      ["-- a; b\nselect 1;", " /* c; /* d; */ ; */ select 2;"]
    ),
    (
      "select 'a;''b;'; select \"c;\"\"d;\", E'\\';' ; select 3",
      ["select 'a;''b;';", " select \"c;\"\"d;\", E'\\';' ;", " select 3"]
    ),
    (
      "do $$ begin null; end $$; do $a$ $$; $a$; select $1;",
      ["do $$ begin null; end $$;", " do $a$ $$; $a$;", " select $1;"]
    ),
    (
      "create rule r as on delete to a do instead (select 1; select 2); select 3;",
      ["create rule r as on delete to a do instead (select 1; select 2);", " select 3;"]
    ),
    (
      "create function f() begin atomic; select case when a then 1 end; end; select 1;",
      ["create function f() begin atomic; select case when a then 1 end; end;", " select 1;"]
    ),
    (" -- nothing\n", []),
  ])
  func `a script is divided into statements`(text: String, statements: [String]) {
    let script = SQLScript(text: text, line: 5)
    #expect(script.statements.map(\.text) == statements)
    #expect(script.statements.first.map(\.line) ?? 5 == 5)
  }

  @Test func `line endings and the header do not change the checksum`() throws {
    let text = "-- migrate: up\nselect 1;\n-- migrate: down\n"
    let one = try Migration(file: "1_a.sql", text: text)
    let other = try Migration(
      file: "1_a.sql", text: "-- new words\r\n" + text.replacing("\n", with: "\r\n")
    )
    #expect(one.checksum == other.checksum)
  }

  @Test func `a line ends only at its newline`() throws {
    for end in ["\n", "\r\n", "\r\r\n", " \t\r\n"] {
      let text = ["-- migrate: up", "select 1;", "--migrate:down  ", "\u{301}select 2;"]
      let migration = try Migration(file: "1_a.sql", text: text.joined(separator: end))
      #expect(migration.up.text.hasPrefix("select 1;"))
      #expect(migration.down.line == 4)
    }
  }

  @Test func `a migration can be irreversible with a reason, or without transactions`() throws {
    let migration = try Migration(
      file: "1_a.sql",
      text: "-- migrate: no transaction\n-- migrate: up\nvacuum;\n-- migrate: irreversible gone\n"
    )
    #expect(!migration.isTransactional)
    #expect(migration.irreversible == "gone")
    #expect(migration.down.isEmpty)
  }

  @Test(
    arguments: [
      ("", nil, "no line '-- migrate: up'"),
      ("-- migrate: up\nselect 1;", nil, "no line '-- migrate: down'"),
      ("-- migrate: up\n-- migrate: down\n", 2, "the up part is empty"),
      ("select 1;\n-- migrate: up\n", 1, "SQL outside"),
      ("-- migrate: upp\n", 1, "unknown marker"),
      ("-- migrate: up\nselect 1;\n-- migrate: irreversible\n", 3, "needs a reason"),
      ("-- migrate: up\n-- migrate: up\n", 2, "wrong place"),
      ("-- migrate: up\n-- migrate: no transaction\n", 2, "wrong place"),
      ("-- migrate: up\n\n-- what for\n-- migrate: down\n", 2, "the up part is empty"),
      ("-- migrate: up\ncopy t from stdin;\n-- migrate: down\n", 2, "nothing to copy"),
      (
        "-- migrate: no transaction\n-- migrate: up\ncreate index concurrently on t (a);\n"
          + "-- migrate: down\n", 3, "needs a name"
      ),
    ] as [(String, Int?, String)]
  )
  func `a malformed file is refused with its line`(text: String, line: Int?, reason: String) throws
  {
    let error = #expect(throws: MigrationError.self) {
      try Migration(file: "0001_a.sql", text: text)
    }
    guard case .badFile("0001_a.sql", line, let said) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(said.contains(reason))
  }

  @Test(arguments: ["a.sql", "0_a.sql", "1-a.sql", "1_A.sql", "1_.sql", "12345678901_a.sql"])
  func `a file with another form of name is refused`(name: String) {
    #expect(throws: MigrationError.self) { try Migration(file: name, text: "") }
  }

  @Test func `every exit status has its own number and meaning`() {
    #expect(Set(MigratorStatus.allCases.map(\.meaning)).count == MigratorStatus.allCases.count)
    #expect(MigratorStatus.table.split(separator: "\n").count == MigratorStatus.allCases.count)
  }

  @Test func `a position in the SQL maps to a line of the file`() {
    let script = SQLScript(text: "-- é\nselect\n 'é\n',\n x", line: 10)
    #expect(script.line(of: nil) == nil)
    #expect(script.line(of: 1) == 10)
    #expect(script.line(of: 23) == 14)
    #expect(script.line(of: 1_000) == 14)
    #expect(script.line(of: -1) == 10)
  }

  @Test(
    arguments: [
      (
        "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS \"my i\" ON ONLY s . \"T t\" (a);",
        .create(name: "\"my i\"", table: "s . \"T t\"")
      ),
      ("\n-- why\n  create index concurrently i on t (a);", .create(name: "i", table: "t")),
      ("drop index concurrently if exists s.i;", .drop(name: "s.i")),
      ("create index concurrently on t (a)", nil), ("create index j on t (a)", nil), ("", nil),
    ] as [(String, ConcurrentIndex?)]
  )
  func `the index of a statement is found by its names`(sql: String, index: ConcurrentIndex?) {
    #expect(SQLScript(text: sql, line: 1).concurrentIndex == index)
  }
}
