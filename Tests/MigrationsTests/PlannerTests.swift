import Migrations
import Testing

@Suite struct PlannerTests {
  static func migration(_ version: Int, alone: Bool = false, down: String = "down") throws
    -> Migration
  {
    try Migration(
      file: "000\(version)_m.sql",
      text: """
        \(alone ? "-- migrate: no transaction" : "--")
        -- migrate: up
        select \(version);
        -- migrate: \(down)
        """)
  }

  static func ledger(_ applied: [Migration], interrupted: Int? = nil) -> Ledger {
    Ledger(
      schema: "public",
      entries: applied.map {
        Ledger.Entry(version: $0.version, name: $0.name, checksum: $0.checksum)
      },
      interrupted: interrupted
    )
  }

  static func words(_ steps: [Step]) -> [String] {
    steps.map { "\($0.direction.rawValue) \($0.migration.version)" }
  }

  @Test func `each goal has its steps`() throws {
    let all = try (1...4).map { try PlannerTests.migration($0) }
    let planner = Planner(all, PlannerTests.ledger(Array(all.prefix(2))))
    #expect(PlannerTests.words(try planner.steps(to: .latest)) == ["up 3", "up 4"])
    #expect(PlannerTests.words(try planner.steps(to: .down(steps: 1))) == ["down 2"])
    #expect(PlannerTests.words(try planner.steps(to: .down(steps: 9))) == ["down 2", "down 1"])
    #expect(PlannerTests.words(try planner.steps(to: .version(3))) == ["up 3"])
    #expect(PlannerTests.words(try planner.steps(to: .version(1))) == ["down 2"])
    #expect(PlannerTests.words(try planner.steps(to: .version(0))) == ["down 2", "down 1"])
    #expect(try planner.steps(to: .version(2)).isEmpty)
    #expect(throws: MigrationError.unknownVersion(7)) { try planner.steps(to: .version(7)) }
  }

  @Test func `an inconsistent state is refused`() throws {
    let all = try (1...3).map { try PlannerTests.migration($0) }
    let edited = Ledger(
      schema: "public", entries: [Ledger.Entry(version: 1, name: "m", checksum: "0")]
    )
    #expect(throws: MigrationError.edited(file: "0001_m.sql")) {
      try Planner(all, edited).steps(to: .latest)
    }
    #expect(throws: MigrationError.missing(version: 1, name: "m")) {
      try Planner([], PlannerTests.ledger([all[0]])).steps(to: .latest)
    }
    let later = PlannerTests.ledger([all[0], all[2]])
    #expect(throws: MigrationError.outOfOrder(file: "0002_m.sql", applied: 3)) {
      try Planner(all, later).steps(to: .latest)
    }
    let allowing = Planner(all, later, allowsOutOfOrder: true)
    #expect(PlannerTests.words(try allowing.steps(to: .latest)) == ["up 2"])
    let oneWay = try PlannerTests.migration(1, down: "irreversible lost")
    #expect(throws: MigrationError.irreversible(file: "0001_m.sql", reason: "lost")) {
      try Planner([oneWay], PlannerTests.ledger([oneWay])).steps(to: .down(steps: 1))
    }
  }

  @Test func `a former text of a file counts as applied`() throws {
    func migration(_ marker: String) throws -> Migration {
      try Migration(
        file: "0001_m.sql",
        text: """
          -- migrate: formerly 0123
          \(marker)
          -- migrate: up
          select 1;
          -- migrate: down
          """)
    }
    let former = Ledger(
      schema: "public", entries: [Ledger.Entry(version: 1, name: "m", checksum: "4567")]
    )
    let other = try migration("--")
    #expect(throws: MigrationError.edited(file: "0001_m.sql")) {
      try Planner([other], former).steps(to: .latest)
    }
    #expect(Status.all([other], former).map(\.state) == [.edited])
    let known = try migration("-- migrate: formerly 4567")
    #expect(try Planner([known], former).steps(to: .latest).isEmpty)
    #expect(Status.all([known], former).map(\.state) == [.applied])
    #expect(known.checksum == other.checksum)
  }

  @Test func `an interrupted migration is completed first`() throws {
    let all = try [PlannerTests.migration(1), PlannerTests.migration(2, alone: true)]
    let half = Planner(all, PlannerTests.ledger([all[0]], interrupted: 2))
    #expect(PlannerTests.words(try half.steps(to: .latest)) == ["up 2"])
    #expect(PlannerTests.words(try half.steps(to: .down(steps: 1))) == ["up 2", "down 2"])
    let undone = Planner(all, PlannerTests.ledger(all, interrupted: 2))
    #expect(PlannerTests.words(try undone.steps(to: .down(steps: 1))) == ["down 2"])
    #expect(PlannerTests.words(try undone.steps(to: .latest)) == ["down 2", "up 2"])
    let step = try #require(try half.steps(to: .latest).first)
    let sent = step.instructions(PlannerTests.ledger([all[0]]))
    #expect(sent.first?.role == .alone(all[1].up, resumed: true))
    #expect(!sent.contains { $0.sql.contains("insert into \"public\".schema_migration_progress") })
  }

  @Test func `a file that gained a transaction after an interruption is refused`() throws {
    let migration = try PlannerTests.migration(2)
    #expect(throws: MigrationError.edited(file: "0002_m.sql")) {
      try Planner([migration], PlannerTests.ledger([], interrupted: 2)).steps(to: .latest)
    }
  }

  @Test func `a plan contains the SQL of files and ledger, with terminated statements`() throws {
    let migration = try Migration(
      file: "0001_a.sql",
      text: "-- migrate: up\nselect 1; -- one\nselect 2 -- two;\n\n-- migrate: down\n"
    )
    let text = Step(migration, .up).rendered(Ledger(schema: "s"))
    let start =
      "-- 0001_a.sql: up\nbegin;\nsavepoint dossier_file;\nselect 1; -- one\nselect 2 -- two;\n;\n"
    #expect(text.hasPrefix(start + "release savepoint dossier_file;\ninsert into"), "\(text)")
    #expect(text.contains("insert into \"s\".schema_migrations"))
    #expect(text.contains(migration.checksum))
    #expect(text.hasSuffix("commit;\n"))
  }

  @Test func `a dump is normalized, except the bodies of functions`() {
    let dump = """
      --
      -- PostgreSQL database dump
      --

      \\restrict abc

      -- Dumped from database version 15.20
      -- Dumped by pg_dump version 15.20

      SET lock_timeout = 0;
      SELECT pg_catalog.set_config('search_path', '', false);

      --
      -- Name: f(); Type: FUNCTION; Schema: public; Owner: -
      --

      CREATE FUNCTION f() AS $$

      SET x = 1;
      $$;


      SET default_tablespace = '';

      CREATE TABLE t ();


      \\unrestrict abc

      """
    #expect(
      SchemaDump.normalized(dump) == """
        --
        -- PostgreSQL database dump
        --

        --
        -- Name: f(); Type: FUNCTION; Schema: public; Owner: -
        --

        CREATE FUNCTION f() AS $$

        SET x = 1;
        $$;


        CREATE TABLE t ();

        """)
    // A carriage return and a newline end a line like a newline.
    #expect(
      SchemaDump.normalized("create a $$\r\n$$;\r\nSET x = 1;\ncreate b;\n")
        == "create a $$\r\n$$;\r\ncreate b;\n"
    )
  }
}
