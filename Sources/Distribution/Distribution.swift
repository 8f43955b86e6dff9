package import Postgres

/// A table that Citus manages.
package struct ManagedTable: RowDecodable, Sendable {
  package let name: String
  /// The column of the key; nil for a table that is not distributed by one.
  package let key: String?
  /// Whether each node has all rows.
  package let isEverywhere: Bool
  /// The number of the group of tables whose equal keys are on the same node.
  package let group: String

  package init(name: String, key: String?, isEverywhere: Bool, group: String) {
    self.name = name
    self.key = key
    self.isEverywhere = isEverywhere
    self.group = group
  }

  package init(from row: Row) throws(DatabaseError) {
    name = try row.text(0)
    key = row.text(ifAny: 1)
    isEverywhere = try row.bool(2)
    group = try row.text(3)
  }
}

/// The clock of a node, or the reason why the node does not answer.
package struct NodeClock: RowDecodable, Sendable {
  package let node: String
  /// Milliseconds since 1970; nil if the node does not answer.
  package let time: Int?
  /// Milliseconds since 1970 on the coordinator, when all had answered.
  package let coordinatorTime: Int

  package init(from row: Row) throws(DatabaseError) {
    node = try row.text(0)
    time = row.text(ifAny: 1).flatMap { Int($0) }
    coordinatorTime = try row.int(2)
  }
}

/// The statements about Citus, which fail where it is not installed.
package enum DistributionQueries {
  /// Returns the tables that Citus manages.
  package static let tables = Statement<ManagedTable>(
    "distribution.tables",
    """
    select c.relname::text, column_to_column_name(p.logicalrelid, p.partkey),
      p.partmethod = 'n' and p.repmodel = 't', p.colocationid::text
    from pg_class c join pg_dist_partition p on p.logicalrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace
    """)

  /// Returns where the shards of each group of tables are.
  static let ranges = Statement<ShardRange>(
    "distribution.ranges",
    """
    select c.relname::text, s.shardminvalue, s.shardmaxvalue, p.groupid
    from pg_class c join pg_dist_shard s on s.logicalrelid = c.oid
      join pg_dist_placement p using (shardid)
    where c.relnamespace = current_schema()::regnamespace and c.relname in ('users', 'rate_limits')
    """)

  /// Reads the row of a user, which need not exist.
  static let probe = Statement<Int, String>(
    "distribution.probe", "select 1 from users where user_id = $1"
  )

  /// Lets the transaction commit in two phases, without a change.
  ///
  /// Citus decides that by itself when a transaction writes on a second node. It misses that if the
  /// transaction has read other rows of that node before. A write on the coordinator is never missed.
  package static let twoPhases = Statement<NoRow>(
    "transaction.two_phases", "update master_keys set check_value = check_value where false"
  )

  /// Returns the clocks of the other nodes.
  package static let clocks = Statement<NodeClock>(
    "distribution.clocks",
    """
    select nodename || ':' || nodeport, case when success then result end,
      (extract(epoch from clock_timestamp()) * 1000)::bigint
    from run_command_on_workers(
      'select (extract(epoch from clock_timestamp()) * 1000)::bigint')
    order by 1
    """)
}

extension NodeSettings {
  /// The statements for the nodes of a database that is distributed by `Placement`.
  package static let ofCitus = NodeSettings(
    ranges: DistributionQueries.ranges, probe: DistributionQueries.probe, group: "users",
    binaryGroups: ["rate_limits"], twoPhases: DistributionQueries.twoPhases
  ) { StatementReach(of: $0) }
}

/// The tables of a database that Citus manages, compared with their placements.
package struct Distribution: Sendable {
  private let tables: [String: ManagedTable]

  /// - Parameter tables: the tables that Citus manages; none without Citus.
  package init(_ tables: [ManagedTable]) {
    self.tables = Dictionary(tables.map { ($0.name, $0) }) { first, _ in first }
  }

  /// Whether Citus manages a table of ours.
  package var hasBegun: Bool { Placement.tables.contains { tables[$0.name] != nil } }

  /// Whether a table is where it belongs, and Citus knows it if it must.
  package func isPlaced(_ name: String, _ placement: Placement) -> Bool {
    (placement == .coordinator && name != Placement.managed) || isManaged(name)
  }

  /// Whether Citus manages a table.
  package func isManaged(_ name: String) -> Bool { tables[name] != nil }

  /// The first table that is distributed otherwise, in words; nil if all are as they should be.
  package var conflict: String? {
    for (name, expected) in Placement.tables {
      guard let table = tables[name] else { continue }
      let found = found(table)
      guard found != expected else { continue }
      return "table \(name) is \(found), and must be \(expected)"
    }
    return nil
  }

  /// The reason why this program cannot use the database; nil for one that is distributed as
  /// it should be, or not at all.
  package var fault: String? {
    guard hasBegun else { return nil }
    if let conflict { return "the database is distributed in another way: \(conflict)" }
    return Placement.tables.first { !isPlaced($0.name, $0.placement) }.map {
      "table \($0.name) is not distributed yet; run dossier-migrate distribute"
    }
  }

  /// The state in one line, for operators.
  package var line: String { fault ?? "distributed over the nodes of Citus" }

  private func found(_ table: ManagedTable) -> Placement {
    if table.isEverywhere { return .everywhere }
    guard let key = table.key else { return .coordinator }
    let first = Placement.tables.first { tables[$0.name]?.group == table.group }
    return .sharded(by: key, group: first?.name ?? table.name)
  }
}
