import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Tests `distribute` without Citus.
@Suite struct UndistributedTests {
  @Test func `a database without Citus is not distributed`() async throws {
    let space = try await Workspace(threeFiles)
    try await space.run("up")
    let run = try await space.run("distribute", status: 23)
    #expect(run.errors.contains("does not have the extension Citus"))
    #expect(try await space.run("distribute", "--dry-run", status: 23).errors == run.errors)
    #expect(try await !space.run("status").output.contains("distributed"))
  }
}

/// Tests `distribute` on a coordinator of Citus with two other nodes.
///
/// One runs after the other: roles belong to all databases of a server, so that two databases cannot
/// get nodes at once.
@Suite(.serialized, .enabled(if: DistributedCluster.isInstalled, "Citus is not installed"))
struct DistributeTests {
  /// The cluster of all these tests.
  private static let cluster = Result { () throws(TestClusterError) in try DistributedCluster() }

  /// Returns a workspace with the project's own migrations.
  private func workspace(isJoined: Bool = true) async throws -> Workspace {
    let space = try await Workspace(database: Self.cluster.get().createDatabase(isJoined: isJoined))
    let folder = "\(SourceFiles.repository)/migrations"
    for name in try FileManager.default.contentsOfDirectory(atPath: folder)
    where name.first?.isNumber == true {
      try space.write(name, String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8))
    }
    return space
  }

  /// Waits until a query counts something.
  private func wait(in space: Workspace, for query: String) async throws {
    while try await space.sql(query) == "0" { try await Task.sleep(for: .milliseconds(20)) }
  }

  private let tables = "select count(*) from pg_dist_partition where logicalrelid = to_regclass"

  @Test func `a run that was killed is continued by the next one`() async throws {
    let space = try await workspace()
    try await space.run("up")
    try await space.sql(
      """
      insert into users (user_id, app_id, anonymous)
      select new_object_id(), app_id, true from apps, generate_series(1, 100)
      where name = 'default';
      insert into passwords (user_id, hash) select user_id, 'x' from users
      """)
    let plan = try await space.run("distribute", "--dry-run", "--shards", "8").output
    #expect(plan.contains(/users +by user_id, with users +100 rows, \d+ kB\n/))
    #expect(plan.contains(/apps +on each node +2 rows/) && plan.contains("8 shards"))
    #expect(plan.contains(/imports +on the coordinator/) && !plan.contains("done"))

    // The first run waits for a lock after it has distributed the users.
    let holder = try TestProgram(
      TestCluster.tool("psql"),
      [
        "-XAtq", "-d", space.conninfo, "-c",
        "begin; lock rate_limits in access share mode; select pg_sleep(1000)",
      ]
    )
    let locks = "select count(*) from pg_locks"
    try await wait(in: space, for: "\(locks) where relation = 'rate_limits'::regclass")
    let first = try space.start(["distribute", "--shards", "8"])
    try await wait(in: space, for: "\(locks) where not granted")
    first.signal(SIGKILL)
    _ = await first.end()
    #expect(try await space.sql("\(tables)('users')") == "1")
    #expect(try await space.sql("\(tables)('rate_limits')") == "0")
    let status = try await space.run("status").output
    #expect(status.contains("table rate_limits is not distributed yet"))
    let keys = "select count(*) from pg_constraint where confrelid = 'users'::regclass"
    #expect(try await space.sql(keys) == "0")
    holder.signal(SIGTERM)
    _ = await holder.end()
    try await space.sql(
      "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(1000)' "
        + "and pid <> pg_backend_pid()"
    )

    try await space.run("distribute")
    #expect(try await space.run("distribute").output == "all tables are distributed\n")
    #expect(try await space.run("verify").output.contains("distributed over the nodes of Citus"))
    #expect(try await space.run("status").output.contains("distributed over the nodes of Citus"))
    #expect(try await space.run("distribute", "--dry-run").output.contains(", done"))
    let both = "select count(*) from users join passwords using (user_id)"
    #expect(try await space.sql(both) == "100")
    #expect(try await space.sql("delete from users; select count(*) from passwords") == "0")
    try await space.run("distribute", "--shards", "9", status: 23)
  }

  @Test func `verify compares the shards of all nodes`() async throws {
    let space = try await workspace()
    try await space.run("up")
    try await space.run("distribute", "--shards", "4")
    try await space.run("verify")
    let json = try await space.run("status", "--json").output
    #expect(json.contains(#""distribution" : "distributed over the nodes of Citus""#))
    try await space.sql(
      "select run_command_on_placements('users', 'alter table %s drop column anonymous')"
    )
    let errors = try await space.run("verify", status: 17).errors
    #expect(errors.contains("table users, shard ") && errors.contains("column anonymous"))
  }

  @Test func `a later migration changes a distributed table on all nodes`() async throws {
    let space = try await workspace()
    try await space.run("up")
    try await space.run("distribute", "--shards", "4")
    try space.write(
      "9000_later.sql",
      """
      -- migrate: up
      alter table users add extra text not null default '';
      create index users_by_extra on users (app_id, extra);
      alter table users set (fillfactor = 70);
      create table extras (
        user_id text collate "C" not null,
        extra text not null,
        primary key (user_id, extra)
      );
      do $$ begin
        if to_regclass('pg_dist_partition') is not null then
          if exists (select 1 from pg_dist_partition where logicalrelid = 'users'::regclass) then
            perform create_distributed_table('extras', 'user_id', colocate_with => 'users');
          end if;
        end if;
      end $$;
      alter table extras add constraint extras_user_id_fkey
        foreign key (user_id) references users on delete cascade;
      -- migrate: down
      drop table extras;
      alter table users set (fillfactor = 90);
      alter table users drop extra;
      """)
    try space.write(
      "9001_later_index.sql",
      """
      -- migrate: no transaction
      -- migrate: up
      create index concurrently users_by_part on users (app_id, email) where email is not null;
      -- migrate: down
      drop index concurrently users_by_part;
      """)
    try await space.run("up")
    try await space.run("verify")
    #expect(try await space.sql("\(tables)('extras')") == "1")
    try await space.run("down")
    try await space.run("down")
    try await space.run("verify")
  }

  @Test func `a database without nodes is not distributed`() async throws {
    let space = try await workspace(isJoined: false)
    try await space.run("up")
    let run = try await space.run("distribute", status: 23)
    #expect(run.errors.contains("no node is registered"))
  }

  @Test func `a database that is distributed otherwise is refused`() async throws {
    let space = try await workspace()
    try await space.run("up")
    try await space.sql("select create_distributed_table('rate_limits', 'app_id')")
    for command in ["distribute", "verify"] {
      let run = try await space.run(command, status: 23)
      #expect(run.errors.contains("table rate_limits is by app_id"))
    }
  }
}
