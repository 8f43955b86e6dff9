package import EventLoop

/// A transaction in progress, on a connection of its own.
@EventLoop package final class DatabaseTransaction {
  private let connection: Connection
  private let nodes: NodeGuard?
  private let beforeCommit: Statement<NoRow>?
  private let group = CallGroup()
  private var commitment: PendingQuery?

  private static let begin = Statement<NoRow>("transaction.begin", "begin")
  private static let commit = Statement<NoRow>("transaction.commit", "commit")
  private static let rollback = Statement<NoRow>("transaction.rollback", "rollback")

  private init(on connection: Connection, _ nodes: NodeGuard?, beforeCommit: Statement<NoRow>?) {
    self.connection = connection
    self.nodes = nodes
    self.beforeCommit = beforeCommit
  }

  static func run<Value>(
    on connection: Connection, _ nodes: NodeGuard?, beforeCommit: Statement<NoRow>? = nil,
    _ body: @EventLoop (DatabaseTransaction) async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    // It is sent together with the first statement; its reply need not be awaited.
    connection.send(PendingQuery(begin.name, begin.sql, Parameters()))
    let transaction = DatabaseTransaction(on: connection, nodes, beforeCommit: beforeCommit)
    do throws(DatabaseError) {
      let outcome = try await body(transaction)
      transaction.sendCommit()
      // If `body` hid a failure, the server rolls back and reports success for the commit.
      guard try await transaction.commitment?.settled().text.tag == "COMMIT" else {
        throw transaction.group.cause(
          of: DatabaseError(.invalidTransaction, "the server rolled back instead of a commit")
        )
      }
      return outcome
    } catch {
      _ = try? await connection.run(rollback)
      throw error
    }
  }

  /// Sends the commit right after the statements sent so far, which saves a round trip.
  ///
  /// After this, the body may only wait for sent statements. A statement that can reject the
  /// transaction must fail itself: its rows arrive too late.
  package func sendCommit() {
    guard commitment == nil else { return }
    if let beforeCommit { send(PendingQuery(beforeCommit)) }
    let call = PendingQuery(Self.commit)
    send(call)
    commitment = call
  }

  private func send(_ call: PendingQuery) {
    call.group = group
    if let failure = failure ?? nodes?.refusal(of: call) { return call.fail(failure) }
    connection.send(call)
  }

  /// The error of the first statement that failed, with which all later ones fail.
  package var failure: DatabaseError? { group.failure }

  /// Sends a statement without waiting for earlier ones.
  ///
  /// Statements sent in one turn of the loop travel together.
  package func send<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) -> SentStatement<Row> {
    send(PendingQuery(statement, repeat each values), returning: Row.self)
  }

  /// Sends a call that the caller has built, like the function above.
  package func send<Row: RowDecodable>(
    _ call: PendingQuery, returning type: Row.Type
  ) -> SentStatement<Row> {
    send(call)
    return SentStatement(call: call)
  }

  /// Sends calls like the function above.
  ///
  /// - Returns: a function that waits for their results.
  package func send(
    _ calls: [PendingQuery]
  ) -> @EventLoop () async throws(DatabaseError) -> [ResultSet] {
    for call in calls { send(call) }
    return { () async throws(DatabaseError) in
      var results: [ResultSet] = []
      for call in calls { results.append(try await call.settled()) }
      return results
    }
  }

  /// Runs one statement of the transaction.
  package func run<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    try await send(statement, repeat each values).rows()
  }
}

/// A statement that a transaction has sent.
@EventLoop package struct SentStatement<Row: RowDecodable> {
  fileprivate let call: PendingQuery

  /// Waits for the rows and returns them.
  package func rows() async throws(DatabaseError) -> [Row] {
    try await call.settled().decode(Row.self)
  }
}

extension Connection {
  /// Runs a statement and waits for its result.
  func run<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(DatabaseError) -> ResultSet {
    try await PendingQuery(statement, repeat each values).run(on: self)
  }
}
