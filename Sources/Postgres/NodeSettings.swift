/// The part of a distributed database that a statement needs.
package enum StatementReach: Hashable, Sendable {
  /// The coordinator has all that the statement needs.
  case coordinator
  /// The node with the rows of one key.
  ///
  /// - Parameters:
  ///   - parameter: the index of the parameter with the key.
  ///   - group: the group of tables whose equal keys are on the same node.
  case node(parameter: Int, group: String)
  case allNodes
}

/// A range of hashes of keys, and the node with the rows.
package struct ShardRange: RowDecodable, Sendable {
  let group: String
  let hashes: ClosedRange<Int>
  let node: Int

  package init(from row: Row) throws(DatabaseError) {
    group = try row.text(0)
    let (least, greatest) = (try row.int(1), try row.int(2))
    hashes = least...max(least, greatest)
    node = try row.int(3)
  }
}

/// The statements by which `NodeGuard` examines the nodes of a distributed database.
package struct NodeSettings: Sendable {
  /// Returns where the rows are, and fails on a database that is not distributed.
  let ranges: Statement<ShardRange>
  /// Reads the row of a key in the group `group`, which need not exist.
  let probe: Statement<Int, String>
  let group: String
  /// The groups of tables whose keys are of type `bytea`.
  let binaryGroups: Set<String>
  /// Lets a transaction commit in two phases; nil if none needs that.
  let twoPhases: Statement<NoRow>?
  /// Returns what a statement needs.
  let reach: @Sendable (SQL) -> StatementReach

  package init(
    ranges: Statement<ShardRange>, probe: Statement<Int, String>, group: String,
    binaryGroups: Set<String>, twoPhases: Statement<NoRow>? = nil,
    reach: @escaping @Sendable (SQL) -> StatementReach
  ) {
    self.ranges = ranges
    self.probe = probe
    self.group = group
    self.binaryGroups = binaryGroups
    self.twoPhases = twoPhases
    self.reach = reach
  }
}
