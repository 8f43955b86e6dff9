import EventLoop
import FoundationEssentials
import Postgres
import TestSupport
import Testing

/// Tests that the programs continue when a migration of the next release adds columns.
@Suite struct WiderTablesTests {
  init() { LoopThread.start() }

  /// The errors of PostgreSQL for a changed result of a plan, a function or an expression.
  private static let changed = ["0A000", "42P13", "42804"].map(SQLState.init(rawValue:))

  @Test func `every statement works after every table and view gets a column`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    #expect(try await widen(database) == [])
  }

  /// Prepares all statements on one connection, and runs each before and after the change.
  @EventLoop private func widen(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    var calls: [String] = []
    for statement in allStatements {
      try await connection.script("prepare \"\(statement.name)\" as \(statement.sql)")
      let count = try await connection.query(
        "select cardinality(parameter_types)::text from pg_prepared_statements where name = $1",
        ["\(statement.name)"]
      ).rows[0][0].flatMap { Int($0) }
      let values = Array(repeating: "null", count: try #require(count)).joined(separator: ", ")
      calls.append("execute \"\(statement.name)\"" + (values.isEmpty ? "" : "(\(values))"))
    }
    let before = try await failures(of: calls, on: connection)
    try await connection.script(
      """
      do $$
      declare
        found record;
      begin
        for found in select oid::regclass as name, relkind, pg_get_viewdef(oid) as query
          from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'v')
          order by relkind
        loop
          if found.relkind = 'r' then
            execute format('alter table %s add column of_the_next_release text', found.name);
          else
            execute format('create or replace view %s as select v.*, 1 as of_the_next_release '
              'from (%s) v', found.name, rtrim(found.query, ';'));
          end if;
        end loop;
      end
      $$
      """)
    return try await failures(of: calls, on: connection).subtracting(before).sorted()
  }

  /// Returns the statements that fail because of their shape, and ignores failures because of nulls.
  @EventLoop private func failures(
    of calls: [String], on connection: Connection
  ) async throws -> Set<String> {
    var failures: Set<String> = []
    for call in calls {
      try await connection.script("begin")
      do throws(DatabaseError) {
        try await connection.script(call)
      } catch {
        if Self.changed.contains(error.state) { failures.insert("\(call): \(error)") }
      }
      try await connection.script("rollback")
    }
    return failures
  }

  @Test func `every statement names its columns`() {
    for statement in allStatements {
      let sql = "\(statement.sql)".replacing("count(*)", with: "")
      #expect(!sql.contains(/(\b(select|returning)\s+|,\s*|\.)\*/), "\(statement.name)")
      #expect(!sql.contains(/insert into \w+( as \w+)?\s+(select|values)/), "\(statement.name)")
    }
  }

  @Test func `no function returns rows of a table or view`() async throws {
    let database = try await TestCluster.shared.createMigratedDatabase()
    #expect(try await functionsOfRows(database) == [])
  }

  @EventLoop private func functionsOfRows(_ database: String) async throws -> [String] {
    let connection = try await Connection.open(.patient(database))
    defer { connection.close() }
    return try await connection.query(
      """
      select p.oid::regprocedure::text from pg_proc p join pg_class c on c.reltype = p.prorettype
      where p.pronamespace = 'public'::regnamespace and c.relkind <> 'c'
      """,
      []
    ).rows.compactMap { $0[0] }
  }
}
