package import Distribution
package import EventLoop
import Postgres

/// Distributes the tables of an existing database over the nodes of Citus.
///
/// Each table is a transaction of its own. A run that was interrupted left each table as it was or
/// distributed, so the next run does the rest.
@EventLoop package struct Distributor {
  private let session: MigratorSession
  private let migrations: [Migration]
  private let shards: Int?

  /// - Parameters:
  ///   - session: the session of a role that owns the tables.
  ///   - migrations: all migrations, which must be applied.
  ///   - shards: the number of shards of each table; nil for that of Citus.
  package init(_ session: MigratorSession, _ migrations: [Migration], shards: Int? = nil) {
    self.session = session
    self.migrations = migrations
    self.shards = shards
  }

  /// Returns the placement of each table, its rows and bytes, and whether it is done.
  ///
  /// It changes nothing and takes no lock.
  package func plan() async throws(MigrationError) -> String {
    try await checkNodes()
    let distribution = try await session.distribution()
    if let conflict = distribution.conflict { throw .distribution(Self.advice(conflict)) }
    let sizes = try await sizes()
    let lines = Placement.tables.map { name, placement in
      let isDone = distribution.isManaged(name)
      return [name.padded(to: 22), "\(placement)".padded(to: 42), sizes[name] ?? "absent"]
        .joined(separator: "  ") + (isDone ? ", done" : "")
    }
    return (lines + ["\(try await shardCount()) shards for each table that has a key"])
      .joined(separator: "\n") + "\n"
  }

  /// Distributes each table that is not distributed yet.
  ///
  /// - Parameter lockTimeout: the seconds to wait for other runs.
  /// - Returns: the number of tables distributed now.
  /// - Throws: `.distribution` if Citus is not ready, workers are connected, or a table is
  ///   distributed otherwise; `.drift` if the schema is not what the migrations make.
  package func run(lockTimeout: Int?) async throws(MigrationError) -> Int {
    try await session.lock(timeout: lockTimeout)
    try await checkNodes()
    try await checkSessions()
    let distribution = try await session.distribution()
    if let conflict = distribution.conflict { throw .distribution(Self.advice(conflict)) }
    let rehearsal = try await rehearsal()
    // An interrupted run may have left out foreign keys.
    if let drift = try await rehearsal.comparison().differenceButForeignKeys {
      throw .drift(drift)
    }
    try await distributeFunctions()
    let shards = try await shardCount()
    let tables = Placement.tables.filter { !distribution.isPlaced($0.name, $0.placement) }
    for (name, placement) in tables {
      session.say("\(name): \(placement)")
      try await session.run(statements(name, placement, shards).joined(separator: ";\n"), as: name)
    }
    for statement in try await rehearsal.comparison().missingForeignKeys {
      session.say(statement)
      try await session.run(statement, as: "foreign keys")
    }
    if let fault = try await session.distribution().fault { throw .distribution(fault) }
    return tables.count
  }

  // MARK: Steps

  /// Returns the transaction that distributes a table.
  ///
  /// Citus refuses foreign keys between a table that is distributed and one that is not yet. So
  /// those of the table are dropped, and made again when all tables are distributed.
  private func statements(_ name: String, _ placement: Placement, _ shards: Int) -> [String] {
    let table = quotedText(name)
    let creation: String
    switch placement {
    case .coordinator: return ["select citus_add_local_table_to_metadata(\(table))"]
    case .everywhere: creation = "select create_reference_table(\(table))"
    case .sharded(let key, let group) where group == name:
      creation =
        "select create_distributed_table(\(table), \(quotedText(key)), colocate_with => 'none', "
        + "shard_count => \(shards))"
    case .sharded(let key, let group):
      creation =
        "select create_distributed_table(\(table), \(quotedText(key)), "
        + "colocate_with => \(quotedText(group)))"
    }
    return [
      "begin", "set local client_min_messages = warning",
      """
      do $$
      declare key record;
      begin
        for key in
          select conrelid::regclass as of, conname from pg_constraint
          where contype = 'f' and conparentid = 0 and \(table)::regclass in (conrelid, confrelid)
        loop
          execute format('alter table %s drop constraint %I', key.of, key.conname);
        end loop;
      end $$
      """,
      creation,
      // Citus keeps the rows that it has copied, and hides them.
      "select truncate_local_data_after_distributing_table(\(table))",
      "commit",
    ]
  }

  /// Makes each function known to all nodes, also the functions that no table needs.
  private func distributeFunctions() async throws(MigrationError) {
    let rows = try await session.query(
      """
      select p.oid::regprocedure from pg_proc p
      where pronamespace = current_schema()::regnamespace and prokind = 'f'
        and not exists (select 1 from pg_depend
          where classid = 'pg_proc'::regclass and objid = p.oid and deptype = 'e')
        and not exists (select 1 from pg_dist_object
          where classid = 'pg_proc'::regclass and objid = p.oid)
      order by 1
      """
    ).rows
    for function in rows.compactMap({ $0[0] }) {
      session.say("function \(function): on each node")
      try await session.run(
        "set client_min_messages = warning; "
          + "select create_distributed_function(\(quotedText(function)))",
        as: function
      )
    }
    try await session.reset()
  }

  // MARK: Conditions

  private func rehearsal() async throws(MigrationError) -> Rehearsal {
    let ledger = try await session.ledger()
    try Planner(migrations, ledger).checkApplied()
    let pending = Status.all(migrations, ledger).filter { $0.state != .applied }
    guard pending.isEmpty else {
      throw .distribution("\(pending.count) migrations are not applied: run dossier-migrate up")
    }
    return Rehearsal(session, ledger, migrations)
  }

  private func checkNodes() async throws(MigrationError) {
    guard try await session.hasCitus() else {
      throw .distribution(
        "this database does not have the extension Citus: install it on each node, and run as a "
          + "superuser, on each node: create extension citus"
      )
    }
    let row = try await session.query(
      """
      select count(*) filter (where groupid = 0),
        count(*) filter (where shouldhaveshards and isactive and noderole = 'primary')
      from pg_dist_node
      """
    ).rows.first
    guard let row, row[0] != "0" else {
      throw .distribution(
        "no node is registered: run as a superuser: "
          + "select citus_set_coordinator_host('HOST', 5432)"
      )
    }
    guard row[1] != "0" else {
      throw .distribution(
        "no node may have shards: run as a superuser, for each other node: "
          + "select citus_add_node('HOST', 5432)"
      )
    }
  }

  /// Rows that a worker writes while foreign keys are missing could have no user.
  private func checkSessions() async throws(MigrationError) {
    let count = try await session.query(
      """
      select count(*) from pg_stat_activity
      where datname = current_database() and application_name in ('dossier', 'dossierd')
      """
    ).rows.first?[0]
    guard count == "0" else {
      throw .distribution(
        "\(count ?? "some") connections of dossierd or dossier are open: stop these programs on "
          + "all hosts first"
      )
    }
  }

  private static func advice(_ conflict: String) -> String {
    "\(conflict); undo it by undistribute_table, or restore the database from a backup"
  }

  // MARK: Sizes

  /// Returns the number of shards, of the tables of users if they are distributed.
  private func shardCount() async throws(MigrationError) -> Int {
    let found = try await session.query(
      """
      select (select count(*) from pg_dist_shard where logicalrelid = to_regclass('users')),
        current_setting('citus.shard_count')
      """
    ).rows.first
    let present = found?[0].flatMap { Int($0) } ?? 0
    guard present > 0 else { return shards ?? found?[1].flatMap { Int($0) } ?? 32 }
    if let shards, shards != present {
      throw .distribution("the tables of users have \(present) shards; leave out --shards")
    }
    return present
  }

  /// Returns the number of rows and bytes of each table, as text.
  ///
  /// PostgreSQL estimates the rows, unless it never has analyzed the table.
  private func sizes() async throws(MigrationError) -> [String: String] {
    var sizes: [String: String] = [:]
    let rows = try await session.query(
      """
      select c.relname, c.reltuples::bigint, pg_size_pretty(case when p.logicalrelid is null
        then pg_total_relation_size(c.oid) else citus_total_relation_size(c.oid) end)
      from pg_class c left join pg_dist_partition p on p.logicalrelid = c.oid
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'
      """
    ).rows
    let known = Set(Placement.tables.map(\.name))
    for row in rows {
      guard let name = row[0], known.contains(name), let size = row[2] else { continue }
      var count = row[1] ?? "-1"
      if count == "-1" {
        count =
          try await session.query("select count(*) from \(quotedName(name))").rows.first?[0] ?? ""
      }
      sizes[name] = "\(count) rows, \(size)"
    }
    return sizes
  }
}

extension MigratorSession {
  /// Whether the database has the extension Citus.
  package func hasCitus() async throws(MigrationError) -> Bool {
    try await query("select to_regclass('pg_catalog.pg_dist_partition')").rows.first?[0] != nil
  }

  /// Returns the tables that Citus manages.
  package func distribution() async throws(MigrationError) -> Distribution {
    guard try await hasCitus() else { return Distribution([]) }
    let rows = try await query("\(DistributionQueries.tables.sql)").rows
    return Distribution(
      rows.map {
        ManagedTable(name: $0[0] ?? "", key: $0[1], isEverywhere: $0[2] == "t", group: $0[3] ?? "")
      }
    )
  }
}

extension Rehearsal.Comparison {
  /// The statements that add the foreign keys that the live schema lacks.
  fileprivate var missingForeignKeys: [String] {
    foreignKeys.filter { live.facts[$0.key] == nil }.map { title, definition in
      "alter " + title.replacing(", constraint ", with: " add constraint ") + " " + definition
    }.sorted()
  }

  fileprivate var differenceButForeignKeys: String? {
    let missing = Set(foreignKeys.keys).subtracting(live.facts.keys)
    return difference(without: missing)
  }

  private var foreignKeys: [String: String] {
    expected.facts.filter { $0.value.hasPrefix("FOREIGN KEY") }
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
