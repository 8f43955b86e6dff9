package import EventLoop

/// The connections to PostgreSQL, in four lanes, so that no kind of work waits for another.
///
/// - Express: reads of bounded cost, all on one pipelined connection.
/// - Exclusive: writes and transactions, each alone on a connection of a small pool.
/// - Search: reads that may take long, a few at a time.
/// - Large: reads with large results, which do not wait for searches.
///
/// The last three lend their connections fairly, by owner.
@EventLoop package final class Database {
  private let express: PersistentConnection
  let exclusive: Lane
  let search: Lane
  let large: Lane
  let settings: DatabaseSettings
  /// The last error of a write that an operator of PostgreSQL must fix.
  ///
  /// A successful probe resets it to nil.
  package internal(set) var writeFault: DatabaseError?
  /// The statement that each transaction runs before its commit; nil for none.
  package var beforeCommit: Statement<NoRow>?
  let guardian: SilenceGuard
  private static let sign = Statement<Int>("database.sign_of_life", "select 1")

  package init(_ settings: DatabaseSettings) {
    self.settings = settings
    beforeCommit = settings.nodes?.twoPhases
    let guardian = SilenceGuard(suspicion: settings.suspicion, grace: settings.grace)
    self.guardian = guardian
    express = PersistentConnection(
      settings.connection(settings.readTimeout, mayScan: false), timeout: settings.readTimeout,
      guardian, decides: true
    )
    exclusive = Lane(
      settings.connection(settings.writeTimeout, lockTimeout: settings.lockTimeout),
      timeout: settings.writeTimeout,
      size: settings.writeConnections,
      reserve: 1,
      waitingRoom: settings.exclusiveWaiting,
      patience: settings.exclusivePatience,
      guardian: guardian
    )
    search = Lane(
      settings.connection(settings.searchTimeout), timeout: settings.searchTimeout,
      size: settings.searchConnections, reserve: 0, waitingRoom: settings.searchWaiting,
      patience: settings.searchPatience, guardian: guardian
    )
    large = Lane(
      settings.connection(settings.largeTimeout), timeout: settings.largeTimeout,
      size: settings.largeConnections, reserve: 0, waitingRoom: settings.largeWaiting,
      patience: settings.largePatience, guardian: guardian
    )
    express.onOpen = { _ in guardian.serverIsThere() }
    guardian.nodes = settings.nodes.map { NodeGuard($0, settings, guardian) }
    guardian.probe = { [weak express, guardian] in
      guardian.nodes?.suspect()
      guard let connection = express?.connection, connection.load == 0 else { return }
      connection.send(PendingQuery(Self.sign))
    }
  }

  /// Starts to connect.
  ///
  /// Calls made before that wait briefly for the connection.
  ///
  /// - Parameter onChange: called whenever the state changes.
  package func start(onChange: (@EventLoop (DatabaseState) -> Void)? = nil) {
    if let onChange {
      var last = state
      let tell = { @EventLoop [weak self] in
        guard let self else { return }
        let now = state
        guard now != last else { return }
        last = now
        onChange(now)
      }
      express.onChange = tell
      for lane in [exclusive, search, large] { lane.onChange = tell }
    }
    express.start()
    exclusive.start()
  }

  /// Waits until reads and writes have a connection each, or one could not be opened.
  package func settle() async {
    while !isReady, express.failure == nil, exclusive.failure == nil {
      await EventLoop.sleep(for: .milliseconds(2))
    }
  }

  package func stop() {
    guardian.nodes?.stop()
    express.stop()
    exclusive.stop()
    search.stop()
    large.stop()
  }

  /// Whether reads and writes have a connection now.
  package var isReady: Bool { express.connection != nil && exclusive.isConnected }

  /// The state of the connections.
  package var state: DatabaseState {
    let failure = express.failure ?? exclusive.failure ?? search.failure ?? large.failure
    guard isReady else { return failure.map { .away($0.message) } ?? .connecting }
    return failure.map { .incomplete($0.message) } ?? .connected
  }

  /// The statements, loans and waiters of the lanes now.
  package var load: DatabaseLoad {
    DatabaseLoad(
      express: express.connection?.load ?? 0, exclusive: exclusive.lent,
      exclusiveWaiting: exclusive.waiters, search: search.lent, searchWaiting: search.waiters,
      large: large.lent, largeWaiting: large.waiters
    )
  }

  // MARK: Express

  /// Runs one read on the shared connection.
  ///
  /// - Parameters:
  ///   - statement: a read of bounded cost. It is sent again if another read's failure aborted
  ///     it.
  ///   - values: the parameters of the statement.
  /// - Returns: the rows, in the server's order.
  /// - Throws: `.connectionFailure` if the server is unavailable, after at most
  ///   `expressPatience`; `.laneFull` if too many reads are in progress.
  package func read<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    try await answer(to: PendingQuery(statement, repeat each values)).decode(Row.self)
  }

  /// Runs one read on the shared connection, as `read` does.
  package func answer(to call: PendingQuery) async throws(DatabaseError) -> ResultSet {
    if let refusal = guardian.nodes?.refusal(of: call) { throw refusal }
    let connection =
      if let connected = express.connection { connected } else { try await expressConnection() }
    guard connection.load < settings.expressDepth else {
      throw DatabaseError(.laneFull, "\(settings.expressDepth) reads are under way")
    }
    // This repeats the body of `run`, which saves each read one function call.
    await unsafe withUnsafeContinuation { unsafe call.start(on: connection, $0) }
    do throws(DatabaseError) {
      return try call.outcome()
    } catch {
      return try await answerAgain(to: call, after: error)
    }
  }

  /// Runs several reads on the shared connection, and sends them together.
  ///
  /// - Returns: the result of each, in the order of the calls.
  package func answers(to calls: [PendingQuery]) async throws(DatabaseError) -> [ResultSet] {
    guard let first = calls.first else { return [] }
    if let refusal = guardian.nodes?.refusal(of: calls) { throw refusal }
    let connection =
      if let connected = express.connection { connected } else { try await expressConnection() }
    guard connection.load + calls.count <= settings.expressDepth else {
      throw DatabaseError(.laneFull, "\(settings.expressDepth) reads are under way")
    }
    for call in calls { connection.send(call) }
    var results = [try await settled(first)]
    for call in calls.dropFirst() { results.append(try await settled(call)) }
    return results
  }

  private func settled(_ call: PendingQuery) async throws(DatabaseError) -> ResultSet {
    do throws(DatabaseError) {
      return try await call.settled()
    } catch {
      return try await answerAgain(to: call, after: error)
    }
  }

  /// Repeats a read after a conflict, or after its connection waited for a node of other users.
  private func answerAgain(
    to call: PendingQuery, after error: DatabaseError
  ) async throws(DatabaseError) -> ResultSet {
    let waited = error.isConnectionLost && guardian.nodes?.isExamining == true
    guard error.isConflict || waited else { throw error }
    return try await retryingConflicts { () async throws(DatabaseError) in
      if let refusal = guardian.nodes?.refusal(of: call) { throw refusal }
      return try await call.run(on: try await expressConnection())
    }
  }

  private func expressConnection() async throws(DatabaseError) -> Connection {
    if let connection = express.connection { return connection }
    // A worker that has just started may get requests before it has connected. They wait once.
    let deadline = EventLoop.now() &+ settings.expressPatience.nanoseconds
    while !express.hasFailed, EventLoop.now() < deadline {
      await EventLoop.sleep(for: .milliseconds(2))
      if let connection = express.connection { return connection }
    }
    throw .away(express.failure)
  }

  // MARK: The other lanes

  /// Runs one statement that writes, in a transaction of its own.
  ///
  /// It is retried a few times after a lock or version conflict with another transaction.
  package func write<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    let call = PendingQuery(statement, repeat each values)
    return try await answer(to: call, on: .exclusive).decode(Row.self)
  }

  /// Runs one statement on a lane that lends connections, as `write` does.
  package func answer(
    to call: PendingQuery, on lane: DatabaseLane, for owner: (any JobOwner)? = nil
  ) async throws(DatabaseError) -> ResultSet {
    try await retryingConflicts { () async throws(DatabaseError) in
      try await connections(of: lane).answer(to: call, for: owner)
    }
  }

  /// Runs a read that may take long.
  package func search<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    let call = PendingQuery(statement, repeat each values)
    return try await answer(to: call, on: .search).decode(Row.self)
  }

  func connections(of lane: DatabaseLane) -> Lane {
    switch lane {
    case .exclusive: exclusive
    case .search: search
    case .large: large
    }
  }
}

/// A lane that lends each connection to one caller at a time.
package enum DatabaseLane: Sendable {
  /// Writes, and reads that need the latest data.
  case exclusive
  /// Reads that may take long.
  case search
  /// Reads with large results.
  case large
}
