import FoundationEssentials
import TestSupport
import Testing

/// Tests an older program on the schema of a newer one.
@Suite struct NewerSchemaTests {
  /// Applies all three files, and removes those that the older program lacks.
  private func overtaken(_ files: [String: String] = threeFiles) async throws -> Workspace {
    let place = try await Workspace(files)
    try await place.run("up")
    place.remove("0002_b.sql")
    place.remove("0003_c.sql")
    return place
  }

  @Test func `an older program undoes migrations without their files`() async throws {
    let other = try await Workspace(threeFiles)
    try await other.run("to", "1")
    let older = try await other.catalog()
    let place = try await overtaken()
    let newer = try await place.catalog()
    #expect(
      try await place.run("status").output.split(separator: "\n").map { $0.prefix(15) }
        == ["0001  a  applie", "0002  b  newer ", "0003  c  newer "]
    )
    #expect(try await place.run("plan", "--to", "1").output.contains("drop table c;"))
    #expect(try await place.run("down").output == "1 down; at version 2\n")
    #expect(try await place.run("to", "1").output == "1 down; at version 1\n")
    #expect(try await place.catalog() == older)
    try await place.run("verify")
    // The newer program is installed again.
    for name in ["0002_b.sql", "0003_c.sql"] { try place.write(name, threeFiles[name] ?? "") }
    #expect(try await place.run("up").output == "2 up; at version 3\n")
    #expect(try await place.catalog() == newer)
  }

  @Test func `an older program grants on a newer schema without changing it`() async throws {
    let place = try await overtaken()
    let role = "server_\(place.id)"
    try await place.sql("create role \(role)")
    let run = try await place.run("up", "--grant-to", role)
    #expect(run.output == "nothing to do; at version 3\n")
    #expect(run.errors.contains("the database has migrations newer than version"))
    let can = "select has_table_privilege('\(role)', 'c', 'insert')"
    #expect(try await place.sql(can) == "t")
    #expect(try await place.run("plan").output.isEmpty)
    let unverified = try await place.run("verify", status: 12).errors
    #expect(unverified.contains("use the package that applied it, or a later one"))
    try await place.sql("drop owned by \(role); drop role \(role)")
  }

  @Test func `an irreversible migration stays irreversible without its file`() async throws {
    var files = threeFiles
    files["0003_c.sql"] =
      "-- migrate: up\ncreate table c ();\n-- migrate: irreversible the data would be lost\n"
    let place = try await overtaken(files)
    let errors = try await place.run("to", "1", status: 19).errors
    #expect(errors.contains("0003_c.sql is irreversible: the data would be lost"))
    #expect(try await place.sql("select count(*) from schema_migrations") == "3")
  }

  @Test func `a run without transactions that was killed during down continues`() async throws {
    let place = try await overtaken()
    try await place.run("down")
    // The state after a run that was killed after its statement.
    try await place.sql(
      "drop index a_by_id; insert into schema_migration_progress values (2, now())"
    )
    #expect(try await place.run("down").output == "1 down; at version 1\n")
    #expect(try await place.sql("select count(*) from schema_migration_progress") == "0")
  }
}
