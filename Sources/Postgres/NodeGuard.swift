import EventLoop

/// Detects nodes of a distributed database that do not answer, and refuses statements for them.
///
/// A frozen node closes no connection and refuses none. Statements for it would hold the connection
/// for reads and those for writes until their time-outs, so users of other nodes would wait too.
/// After a suspicion, the guard reads a row of each node on a connection of its own. It repeats that
/// until all nodes answer. A node that is down refuses connections at once, and needs no guard.
@EventLoop final class NodeGuard {
  private let queries: NodeSettings
  private let connection: ConnectionSettings
  private let watch: ConnectionWatch
  /// The time between two examinations.
  private static let pause = Duration.milliseconds(250)
  private var ranges: [ShardRange] = []
  /// The nodes that do not answer.
  private var silent: Set<Int> = []
  private var reaches: [UInt: StatementReach] = [:]
  private var isDistributed = true
  private(set) var isExamining = false
  private var isStopped = false
  /// The time of the coordinator's last reply.
  private var lastHeard: UInt64 = 0
  private unowned let guardian: SilenceGuard

  /// - Parameters:
  ///   - queries: the statements for the nodes.
  ///   - settings: the settings of the database; a probe may take as long as a read.
  ///   - guardian: the guard that has the connections.
  init(_ queries: NodeSettings, _ settings: DatabaseSettings, _ guardian: SilenceGuard) {
    self.queries = queries
    self.guardian = guardian
    connection = settings.connection(settings.readTimeout, mayScan: false)
    watch = ConnectionWatch(
      suspicion: guardian.suspicion, limit: guardian.limit(for: settings.readTimeout),
      onSuspicion: {}, onSilence: { _ in }
    )
  }

  /// Examines the nodes, unless the database is known to have none.
  func suspect() {
    guard isDistributed, !isExamining else { return }
    isExamining = true
    EventLoop.task { [self] in
      repeat {
        await examine()
        if silent.isEmpty { break }
        await EventLoop.sleep(for: Self.pause)
      } while !isStopped
      isExamining = false
    }
  }

  func stop() { isStopped = true }

  /// Whether the database is known to have no nodes; this examines it the first time.
  var knowsNone: Bool {
    if isDistributed, lastHeard == 0 { suspect() }
    return !isDistributed
  }

  /// Returns whether the coordinator of a distributed database has replied within this time.
  func hasHeardCoordinator(within time: Duration) -> Bool {
    isDistributed && isExamining && EventLoop.now() &- lastHeard < time.nanoseconds
  }

  // MARK: Refusals

  /// Returns the error for statements of which one needs a silent node; nil if none does.
  func refusal(of calls: [PendingQuery]) -> DatabaseError? {
    silent.isEmpty ? nil : calls.lazy.compactMap { self.refusal(of: $0) }.first
  }

  /// Returns the error for a statement that needs a silent node; nil for any other.
  func refusal(of call: PendingQuery) -> DatabaseError? {
    guard !silent.isEmpty, needsSilentNode(call) else { return nil }
    return DatabaseError(.connectionFailure, "a node of the database does not answer")
  }

  private func needsSilentNode(_ call: PendingQuery) -> Bool {
    switch reach(of: call) {
    case .coordinator: return false
    case .allNodes: return true
    case .node(let parameter, let group):
      let isBinary = queries.binaryGroups.contains(group)
      guard let key = call.parameters.value(at: parameter, isBinary: isBinary) else { return false }
      return node(of: key, in: group).map(silent.contains) ?? false
    }
  }

  private func reach(of call: PendingQuery) -> StatementReach {
    // Only searches over all users are composed.
    guard call.composed == nil else { return .allNodes }
    if let known = reaches[call.name.address] { return known }
    let reach = queries.reach(call.sql)
    reaches[call.name.address] = reach
    return reach
  }

  private func node(of key: [UInt8], in group: String) -> Int? {
    let hash = Int(KeyHash.of(key))
    return ranges.first { $0.group == group && $0.hashes.contains(hash) }?.node
  }

  // MARK: Examination

  private func examine() async {
    do throws(DatabaseError) {
      // A new connection has no connections to nodes. So it never waits until a frozen node has
      // accepted that a statement was cancelled.
      let connection = try await Connection.open(connection, watch: watch)
      defer { connection.close() }
      ranges = try await connection.run(queries.ranges).decode(ShardRange.self)
      lastHeard = EventLoop.now()
      for (node, key) in keys() { await examine(node, by: key, on: connection) }
      silent.formIntersection(ranges.map(\.node))
    } catch {
      // Without the coordinator, no node counts as silent.
      silent = []
      if !error.isServerAway { isDistributed = error.serverFault != .schema }
    }
  }

  private func examine(_ node: Int, by key: String, on connection: Connection) async {
    do throws(DatabaseError) {
      _ = try await connection.run(queries.probe, key)
      silent.remove(node)
    } catch {
      // Another error is an answer, also that the node refuses connections.
      guard error.state == .queryCanceled || connection.failure != nil else {
        silent.remove(node)
        return
      }
      if silent.insert(node).inserted { guardian.nodeIsSilent() }
    }
    lastHeard = EventLoop.now()
  }

  /// Returns a key for each node.
  private func keys() -> [Int: String] {
    var missing = Set(ranges.lazy.filter { $0.group == self.queries.group }.map(\.node))
    var keys: [Int: String] = [:]
    var number = 0
    while !missing.isEmpty, number < 100_000 {
      let key = "\(number)"
      if let node = node(of: Array(key.utf8), in: queries.group), missing.remove(node) != nil {
        keys[node] = key
      }
      number += 1
    }
    return keys
  }
}

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
