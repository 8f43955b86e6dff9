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

  /// Whether this is known to be one PostgreSQL, and no database that is distributed over nodes.
  package var isOnOneNode: Bool { guardian.nodes?.knowsNone ?? true }

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

extension Database {
  /// Runs `body` in a transaction: commits if it returns, rolls back if it throws.
  ///
  /// After a lock or version conflict with another transaction, `body` runs again. So a rollback
  /// must undo all its effects, and it must not request another connection. It should use the rows
  /// of one user.
  package func transaction<Value>(
    for owner: (any JobOwner)? = nil,
    _ body: @EventLoop (DatabaseTransaction) async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    try await retryingConflicts { () async throws(DatabaseError) in
      try await exclusive.withConnection(for: owner) { (connection) async throws(DatabaseError) in
        try await DatabaseTransaction.run(
          on: connection, guardian.nodes, beforeCommit: beforeCommit, body
        )
      }
    }
  }

  /// Runs `body` up to four times, while it fails with version conflicts or lock time-outs.
  func retryingConflicts<Value>(
    _ body: @EventLoop () async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    var attempt = 1
    while true {
      do throws(DatabaseError) {
        return try await body()
      } catch {
        if error.serverFault != nil { writeFault = error }
        guard error.isConflict, attempt < 4 else { throw error }
        await EventLoop.sleep(for: .milliseconds(Int.random(in: 0...(attempt * 10))))
        attempt += 1
      }
    }
  }
}

/// Statements of many keys, which are no transaction.
extension Database {
  /// The statements that are sent together.
  ///
  /// On one PostgreSQL these are one transaction, which locks its rows until its end.
  private static var share: Int { 100 }

  /// Runs statements, each by a key of its own, and sends many of them together.
  ///
  /// They are no transaction. If a write fails, others may be undone or not, and the caller repeats
  /// all of them later. The caller sorts writes by their keys, so that no two callers wait for each
  /// other.
  /// - Returns: the result of each, in the order of the calls.
  package func answers(
    to calls: [PendingQuery], on lane: DatabaseLane, for owner: (any JobOwner)? = nil
  ) async throws(DatabaseError) -> [ResultSet] {
    if let refusal = guardian.nodes?.refusal(of: calls) { throw refusal }
    var results: [ResultSet] = []
    for start in stride(from: 0, to: calls.count, by: Self.share) {
      let share = calls[start..<min(start + Self.share, calls.count)]
      results += try await retryingConflicts { () async throws(DatabaseError) in
        try await connections(of: lane).withConnection(for: owner) {
          connection async throws(DatabaseError) in
          try await Self.results(of: share, on: connection)
        }
      }
    }
    return results
  }

  /// Runs the calls, as the function above does; returns the rows of all.
  package func write<Row: RowDecodable>(
    _ calls: [PendingQuery], returning type: Row.Type, for owner: (any JobOwner)? = nil
  ) async throws(DatabaseError) -> [Row] {
    try await answers(to: calls, on: .exclusive, for: owner).decode(type)
  }

  private static func results(
    of calls: ArraySlice<PendingQuery>, on connection: Connection
  ) async throws(DatabaseError) -> [ResultSet] {
    let group = CallGroup()
    for call in calls {
      call.forgetOutcome()
      call.group = group
      connection.send(call)
    }
    var results: [ResultSet] = []
    // The connection is free again only when it has answered all calls.
    for call in calls {
      do throws(DatabaseError) { results.append(try await call.settled()) } catch {}
    }
    if let failure = group.failure { throw failure }
    return results
  }
}

extension [ResultSet] {
  /// Returns the rows of all.
  @EventLoop package func decode<Row: RowDecodable>(
    _ type: Row.Type
  ) throws(DatabaseError) -> [Row] {
    var rows: [Row] = []
    for result in self { rows += try result.decode(type) }
    return rows
  }
}

extension Database {
  /// The pooler before PostgreSQL, if any.
  package var pooler: Pooler { settings.pooler }

  /// The settings that the role needs before a pooler.
  package var sessionSettings: [SessionSetting] { settings.sessionSettings }

  /// Runs a write on a new connection and rolls it back.
  ///
  /// An old connection may keep using open files that PostgreSQL cannot open for a new one.
  /// - Returns: the reason why writes fail, or nil.
  package func attempt<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async -> DatabaseError? {
    do throws(DatabaseError) {
      let connection = try await Connection.open(
        settings.connection(settings.writeTimeout, lockTimeout: settings.lockTimeout),
        watch: ConnectionWatch(
          suspicion: guardian.suspicion, limit: guardian.limit(for: settings.writeTimeout),
          onSuspicion: {}, onSilence: { _ in }
        )
      )
      defer { connection.close() }
      try await DatabaseTransaction.run(on: connection, guardian.nodes) {
        (transaction) async throws(DatabaseError) in
        _ = try await transaction.run(statement, repeat each values)
        throw DatabaseError(.undone, "an attempt")
      }
    } catch {
      writeFault = error.state == .undone ? nil : error
    }
    return writeFault
  }
}

/// The state of the connections.
///
/// Reasons are messages of libpq or the server, for an operator.
package enum DatabaseState: Equatable, Sendable {
  /// No attempt has failed yet.
  case connecting
  case connected
  /// Reads and writes have a connection each, but other lanes lack one.
  case incomplete(String)
  case away(String)
}

extension DatabaseError {
  /// Returns the error for callers while there is no connection.
  static func away(_ reason: DatabaseError?) -> DatabaseError {
    DatabaseError(
      .connectionFailure, reason.map { "PostgreSQL is away: \($0.message)" } ?? "PostgreSQL is away"
    )
  }
}

/// The statements, loans and waiters of a database's lanes at one moment.
package struct DatabaseLoad: Sendable {
  package let express: Int
  package let exclusive: Int
  package let exclusiveWaiting: Int
  package let search: Int
  package let searchWaiting: Int
  package let large: Int
  package let largeWaiting: Int
}
