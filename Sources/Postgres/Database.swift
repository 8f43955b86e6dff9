package import EventLoop

/// PostgreSQL by four lanes, so that no kind of work waits behind another.
///
/// - Express: reads of bounded cost, all on one pipelined connection.
/// - Exclusive: writes and transactions, each alone on a connection of a small pool.
/// - Search: reads that may take long, few at a time.
/// - Large: reads of one large value, which wait for no search.
@EventLoop package final class Database {
  private let express: PersistentConnection
  private let exclusive: Lane
  private let search: Lane
  private let large: Lane
  private let settings: DatabaseSettings
  /// The last error of a write that the operator of PostgreSQL must end; nil after an attempt that
  /// succeeded.
  package private(set) var writeFault: DatabaseError?

  package init(_ settings: DatabaseSettings) {
    self.settings = settings
    express = PersistentConnection(
      settings.connection(settings.readTimeout),
      silence: settings.silence
    )
    exclusive = Lane(
      settings.connection(settings.writeTimeout),
      silence: settings.silence,
      size: settings.exclusiveConnections,
      waitingRoom: settings.exclusiveWaiting,
      patience: settings.exclusivePatience
    )
    search = Lane(
      settings.connection(settings.searchTimeout),
      silence: settings.silence + settings.searchTimeout,
      size: settings.searchConnections,
      waitingRoom: settings.searchWaiting,
      patience: settings.searchPatience
    )
    large = Lane(
      settings.connection(settings.readTimeout),
      silence: settings.silence,
      size: settings.largeConnections,
      waitingRoom: 64,
      patience: .seconds(2)
    )
  }

  /// Starts to connect; calls made before it has come to that wait a moment.
  ///
  /// - Parameter onChange: hears whenever the state is another.
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

  /// Waits until reads and writes have a connection, or one could not be made.
  package func settle() async {
    while !isReady, express.failure == nil, exclusive.failure == nil {
      await EventLoop.sleep(for: .milliseconds(2))
    }
  }

  package func stop() {
    express.stop()
    exclusive.stop()
    search.stop()
    large.stop()
  }

  /// Whether reads and writes have a connection now.
  package var isReady: Bool { express.connection != nil && exclusive.isConnected }

  /// How far it is connected.
  package var state: DatabaseState {
    let failure = express.failure ?? exclusive.failure ?? search.failure ?? large.failure
    guard isReady else { return failure.map { .away($0.message) } ?? .connecting }
    return failure.map { .incomplete($0.message) } ?? .connected
  }

  /// What the lanes hold now.
  package var load: DatabaseLoad {
    DatabaseLoad(
      express: express.connection?.load ?? 0,
      exclusive: exclusive.lent,
      exclusiveWaiting: exclusive.waiters,
      search: search.lent,
      searchWaiting: search.waiters,
      large: large.lent,
      largeWaiting: large.waiters
    )
  }

  // MARK: Express

  /// Runs one read on the shared connection.
  ///
  /// - Parameters:
  ///   - statement: a read of bounded cost. It is sent again when another's failure aborted it.
  ///   - values: its parameters.
  /// - Returns: the rows, in the server's order.
  /// - Throws: `.connectionFailure` while the server is away, within `expressPatience`;
  ///   `.laneFull` when too much is under way.
  package func read<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    try await answer(to: StatementCall(statement, repeat each values)).decode(Row.self)
  }

  /// Runs one read on the shared connection, as `read` does.
  package func answer(to call: StatementCall) async throws(DatabaseError) -> ResultSet {
    let connection =
      if let connected = express.connection { connected } else { try await expressConnection() }
    guard connection.load < settings.expressDepth else {
      throw DatabaseError(.laneFull, "\(settings.expressDepth) reads are under way")
    }
    // As `run`, which would be one more function to enter and to leave for every read.
    await unsafe withUnsafeContinuation { unsafe call.start(on: connection, $0) }
    return try call.outcome()
  }

  /// Runs reads on the shared connection that leave together.
  ///
  /// - Returns: the outcome of each, in the order of the calls.
  package func answers(
    to calls: [StatementCall]
  ) async throws(DatabaseError) -> [ResultSet] {
    guard let first = calls.first else { return [] }
    let connection =
      if let connected = express.connection { connected } else { try await expressConnection() }
    guard connection.load + calls.count <= settings.expressDepth else {
      throw DatabaseError(.laneFull, "\(settings.expressDepth) reads are under way")
    }
    for call in calls { connection.send(call) }
    var results = [try await first.settled()]
    for call in calls.dropFirst() { results.append(try await call.settled()) }
    return results
  }

  private func expressConnection() async throws(DatabaseError) -> Connection {
    // A worker that has just started is asked before it is connected: wait, once.
    let deadline = EventLoop.now() &+ settings.expressPatience.nanoseconds
    while !express.hasFailed, EventLoop.now() < deadline {
      await EventLoop.sleep(for: .milliseconds(2))
      if let connection = express.connection { return connection }
    }
    throw .away(express.failure)
  }

  // MARK: Exclusive and search

  /// Runs one statement that writes, in a transaction of its own.
  ///
  /// Tried again up to three times when it met another's lock or version.
  package func write<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    try await answer(toWrite: StatementCall(statement, repeat each values)).decode(Row.self)
  }

  /// Runs one statement that writes, as `write` does.
  package func answer(toWrite call: StatementCall) async throws(DatabaseError) -> ResultSet {
    try await retryingConflicts { () async throws(DatabaseError) in
      try await exclusive.answer(to: call)
    }
  }

  /// Runs a read that may take long.
  package func search<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    try await onSearchLane { (connection) async throws(DatabaseError) in
      try await connection.run(statement, repeat each values).decode(Row.self)
    }
  }

  /// Runs a read of one large value.
  package func fetch<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    try await large.withConnection { (connection) async throws(DatabaseError) in
      try await connection.run(statement, repeat each values).decode(Row.self)
    }
  }

  func onSearchLane<Result>(
    _ body: @EventLoop (Connection) async throws(DatabaseError) -> Result
  ) async throws(DatabaseError) -> Result {
    try await search.withConnection(body)
  }

  /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
  ///
  /// It may run up to three times, when it met another's lock or version: it must do nothing that
  /// a roll-back does not undo. Give it the rows of one user.
  package func transaction<Value>(
    _ body: @EventLoop (Transaction) async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    try await retryingConflicts { () async throws(DatabaseError) in
      try await exclusive.withConnection { (connection) async throws(DatabaseError) in
        try await Transaction.run(on: connection, body)
      }
    }
  }

  /// Runs a write and rolls it back, on a connection of its own.
  ///
  /// An old connection may go on with files that PostgreSQL cannot open for a new one.
  /// - Returns: why writes fail, or nil.
  package func attempt<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async -> DatabaseError? {
    do throws(DatabaseError) {
      let connection = try await Connection.open(
        settings.connection(settings.writeTimeout),
        silence: settings.silence
      )
      defer { connection.close() }
      try await Transaction.run(on: connection) { (transaction) async throws(DatabaseError) in
        _ = try await transaction.run(statement, repeat each values)
        throw DatabaseError(.undone, "an attempt")
      }
    } catch {
      writeFault = error.state == .undone ? nil : error
    }
    return writeFault
  }

  private func retryingConflicts<Value>(
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

/// How far a database is connected; reasons are libpq's words, or the server's, for an operator.
package enum DatabaseState: Equatable, Sendable {
  /// Nothing has failed yet.
  case connecting
  case connected
  /// Reads and writes have a connection each, and others are missing.
  case incomplete(String)
  case away(String)
}

extension DatabaseError {
  /// What callers hear while there is no connection.
  static func away(_ reason: DatabaseError?) -> DatabaseError {
    DatabaseError(
      .connectionFailure,
      reason.map { "PostgreSQL is away: \($0.message)" } ?? "PostgreSQL is away"
    )
  }
}

/// What the lanes of a database hold at one moment.
package struct DatabaseLoad: Sendable {
  package let express: Int
  package let exclusive: Int
  package let exclusiveWaiting: Int
  package let search: Int
  package let searchWaiting: Int
  package let large: Int
  package let largeWaiting: Int
}
