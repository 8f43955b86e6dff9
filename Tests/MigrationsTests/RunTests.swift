import FoundationEssentials
import Glibc
import TestSupport
import Testing

@Suite struct RunTests {
  @Test func `four concurrent runs apply each file once`() async throws {
    var files = threeFiles
    files["0003_c.sql"] = """
      -- migrate: up
      create table c (id int); select pg_advisory_xact_lock(4711);
      -- migrate: down
      """
    let place = try await Workspace(files)
    // The active run cannot end before the other runs have reported that they wait.
    let holder = try TestProgram(
      TestCluster.tool("psql"),
      ["-XAtq", "-d", place.conninfo, "-c", "select pg_advisory_lock(4711), pg_sleep(100000)"]
    )
    // Other tests have locks and databases of their own on the same server.
    defer { holder.signal(SIGTERM) }
    let holds = """
      from pg_locks l join pg_database d on d.oid = l.database
      where d.datname = current_database() and l.objid = 4711 and l.granted
      """
    while try await place.sql("select count(*) \(holds)") != "1" {
      #expect(!holder.hasEnded)
    }
    let programs = try (0..<4).map { _ in try place.start(["up"]) }
    let waiting = "waiting for another run (server process"
    while programs.count(where: { $0.errors.contains(waiting) }) < 3 {
      let ended = programs.first { $0.hasEnded }
      try #require(ended == nil, "a run has ended and will never wait: \(ended?.errors ?? "")")
      try await Task.sleep(for: .milliseconds(5))
    }
    try await place.sql("select pg_terminate_backend(l.pid) \(holds)")
    _ = await holder.end()
    for program in programs {
      #expect(await program.end() == 0, "\(program.errors)")
    }
    #expect(programs.count { $0.output == "3 up; at version 3\n" } == 1)
    #expect(programs.count { $0.output == "nothing to do; at version 3\n" } == 3)
    #expect(try await place.sql("select count(*) from schema_migrations") == "3")
    #expect(try await place.sql("select to_regclass('a_by_id')") == "a_by_id")
  }

  @Test func `down and to migrate in both directions`() async throws {
    let place = try await Workspace(threeFiles)
    let empty = try await place.catalog()
    try await place.run("up")
    let full = try await place.catalog()
    #expect(try await place.run("down").output == "1 down; at version 2\n")
    #expect(try await place.run("down", "--steps", "2").output == "2 down; at version 0\n")
    #expect(try await place.catalog() == empty)
    #expect(try await place.run("to", "2").output == "2 up; at version 2\n")
    #expect(try await place.run("to", "3", "--quiet").errors.isEmpty)
    #expect(try await place.catalog() == full)
    #expect(try await place.run("to", "0").output == "3 down; at version 0\n")
    #expect(try await place.catalog() == empty)
    #expect(try await place.run("down").output == "nothing to do; at version 0\n")
  }

  @Test func `the ledger has its columns and records what was applied`() async throws {
    let place = try await Workspace(threeFiles)
    try await place.run("up")
    let rows = try await place.sql(
      """
      select version, name, length(checksum), applied_by, duration_ms between 0 and 60000,
        applied_at between now() - interval '1 hour' and now()
      from schema_migrations where version < 3 order by version
      """)
    #expect(rows == "1|a|64|postgres|t|t\n2|b|64|postgres|t|t")
    #expect(try await place.sql("select count(*) from schema_migration_progress") == "0")
  }

  @Test func `status lists each migration's state as text and JSON`() async throws {
    struct Row: Decodable {
      var version: Int
      var name: String
      var state: String
      var applied_by: String?
    }
    struct Report: Decodable { var migrations: [Row] }
    let place = try await Workspace(threeFiles)
    let before = try await place.run("status").output
    #expect(before == "0001  a  pending\n0002  b  pending\n0003  c  pending\n")
    try await place.run("to", "2")
    let json = try await place.run("status", "--json").output
    let rows = try JSONDecoder().decode(Report.self, from: Data(json.utf8)).migrations
    #expect(rows.map(\.state) == ["applied", "applied", "pending"])
    #expect(rows.map(\.applied_by) == ["postgres", "postgres", nil])
    #expect(rows.map(\.name) == ["a", "b", "c"])
  }

  @Test func `plan prints what up would do, and changes nothing`() async throws {
    let place = try await Workspace(threeFiles)
    let plan = try await place.run("plan").output
    #expect(plan.contains("create table if not exists \"public\".schema_migrations"))
    #expect(plan.contains("create unique index concurrently a_by_id on a (id);"))
    let ledgers = "select count(*) from pg_class where relname ~ 'schema_mig'"
    #expect(try await place.sql(ledgers) == "0")
    // psql has the same result with the printed SQL.
    let other = try await Workspace(threeFiles)
    try other.write("plan.txt", plan)
    let psql = try TestProgram(
      TestCluster.tool("psql"),
      ["-Xq", "-v", "ON_ERROR_STOP=1", "-d", other.conninfo, "-f", "\(other.folder)/plan.txt"]
    )
    #expect(await psql.end() == 0, "\(psql.errors)")
    #expect(try await other.run("up").output == "nothing to do; at version 3\n")
    try await place.run("up")
    #expect(try await place.catalog() == other.catalog())
    #expect(try await place.run("plan").output.isEmpty)
    #expect(try await place.run("plan", "--to", "2").output.contains("drop table c;"))
  }

  @Test func `new writes a template with the next version`() async throws {
    let place = try await Workspace(threeFiles)
    let path = try await place.run("new", "more_things").output
    #expect(path == "\(place.folder)/0004_more_things.sql\n")
    #expect(try place.text(of: "0004_more_things.sql").contains("-- migrate: up\n"))
    try await place.run("new", "Bad Name", status: 16)
  }

  @Test func `grants allow a role to use the tables and only read the ledger`() async throws {
    let place = try await Workspace(threeFiles)
    let role = "worker_\(getpid())"
    try await place.sql("create role \(role)")
    try await place.run("to", "2")
    try await place.run("up", "--grant-to", role)
    try await place.run("up", "--grant-to", role)
    try await place.sql("create table later (id int)")
    let can = try await place.sql(
      """
      select has_table_privilege('\(role)', t, 'select'),
        has_table_privilege('\(role)', t, 'insert, update, delete')
      from unnest(array['c', 'later', 'schema_migrations', 'schema_migration_progress']) t
      """)
    #expect(can == "t|t\nt|t\nt|f\nt|f")
    let call = "select has_function_privilege('\(role)', 'twice(int)', 'execute')"
    #expect(try await place.sql(call) == "t")
    try await place.sql("drop owned by \(role); drop role \(role)")
  }

  @Test func `the database can be set by the environment or a file`() async throws {
    let place = try await Workspace(threeFiles)
    try place.write("conninfo", place.conninfo + "\n")
    let tool = Workspace.command
    for (name, value) in [("", place.conninfo), ("_FILE", "\(place.folder)/conninfo")] {
      let program = try TestProgram(
        tool, ["status", "--migrations", place.folder],
        environment: ["DOSSIER_MIGRATE_DATABASE\(name)": value]
      )
      #expect(await program.end() == 0, "\(program.errors)")
    }
    let program = try TestProgram(tool, ["status", "--migrations", place.folder])
    #expect(await program.end() == 64)
  }

  @Test func `settings of one file do not affect the next`() async throws {
    let place = try await Workspace([
      "1_a.sql": "-- migrate: up\ncreate schema s; set search_path = s;\n-- migrate: down\n",
      "2_b.sql": "-- migrate: up\ncreate table t ();\n-- migrate: down\n",
    ])
    try await place.run("up")
    #expect(try await place.sql("select to_regclass('public.t')") == "t")
  }
}

extension Workspace {
  /// A workspace with the migrations of the repository, without any applied.
  static func ofRepository() async throws -> Workspace {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let place = try await Workspace()
    for name in try FileManager.default.contentsOfDirectory(atPath: "\(root)/migrations")
    where name.hasSuffix(".sql") {
      try FileManager.default.copyItem(
        atPath: "\(root)/migrations/\(name)", toPath: "\(place.folder)/\(name)"
      )
    }
    return place
  }
}
