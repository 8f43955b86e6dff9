import Glibc
import TestSupport
import Testing

@Suite struct KillTests {
  static let files = Dictionary(
    uniqueKeysWithValues: (1...8).map { number in
      ("000\(number)_m.sql", [4: indexed, 5: unindexed][number] ?? inTransaction(number))
    }
  )

  static func inTransaction(_ number: Int) -> String {
    """
    -- migrate: up
    create table t\(number) (id int);
    create index t\(number)_by_id on t\(number) (id);
    select pg_sleep(0.02);
    insert into t1 values (\(number));
    -- migrate: down
    select pg_sleep(0.02);
    delete from t1 where id = \(number);
    drop table t\(number);
    """
  }

  static let indexed = """
    -- migrate: no transaction
    -- migrate: up
    create unique index concurrently t1_once on t1 (id);
    -- migrate: down
    drop index concurrently t1_once;
    """

  static let unindexed = """
    -- migrate: no transaction
    -- migrate: up
    drop index concurrently t2_by_id;
    -- migrate: down
    create index concurrently t2_by_id on t2 (id);
    """

  @Test func `the next run completes a run that was killed at any moment`() async throws {
    let undisturbed = try await Workspace(KillTests.files)
    let empty = try await undisturbed.catalog()
    try await undisturbed.run("up")
    let rows = try await undisturbed.sql("select id from t1 order by id")
    let schema = try await undisturbed.catalog()
    let left = try await withThrowingTaskGroup(of: [String].self) { group in
      for half in 0..<2 {
        group.addTask {
          var left: [String] = []
          var place = try await Workspace(KillTests.files)
          for round in 0..<10 {
            // Each file, the time before the first, and mostly files without transactions.
            let number = round * 2 + half
            let file = number < 9 ? number : 4 + half
            let delay = Duration.milliseconds(Int.random(in: 0..<(file / 2 == 2 ? 20 : 40)))
            // The first rounds also interrupt the creation of the ledger.
            if round < 3 { place = try await Workspace(KillTests.files) }
            left.append(try await place.runKilled(["up"], delay, in: file))
            #expect(try await place.sql("select id from t1 order by id") == rows)
            #expect(try await place.catalog() == schema)
            #expect(try await place.sql("select count(*) from schema_migrations") == "8")
            left.append(try await place.runKilled(["to", "0"], delay, in: file))
            #expect(try await place.catalog() == empty)
            #expect(try await place.sql("select count(*) from schema_migration_progress") == "0")
          }
          return left
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    // The kills hit different places.
    #expect(Set(left).count > 6, "\(left)")
  }
}

extension Workspace {
  /// Runs the command, kills it, and runs it again.
  ///
  /// - Parameters:
  ///   - words: its arguments.
  ///   - delay: of the kill, after a file was begun.
  ///   - file: its version; 0 kills sooner.
  /// - Returns: what the second run had to do.
  /// - Throws: when it cannot be started.
  func runKilled(_ words: [String], _ delay: Duration, in file: Int) async throws -> String {
    let program = try start(words)
    while file > 0, !program.errors.contains("000\(file)_m.sql"), !program.hasEnded {
      try await Task.sleep(for: .milliseconds(1))
    }
    try await Task.sleep(for: delay)
    program.signal(SIGKILL)
    _ = await program.end()
    let next = try start(words + ["--lock-timeout", "20"])
    #expect(await next.end() == 0, "\(next.errors)")
    return next.output
  }
}
