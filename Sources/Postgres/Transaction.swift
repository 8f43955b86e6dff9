package import EventLoop

/// A transaction under way, on a connection of its own.
@EventLoop package final class Transaction {
  private let connection: Connection
  private var commitment: StatementCall?

  private static let begin = Statement<NoRow>("transaction.begin", "begin")
  private static let commit = Statement<NoRow>("transaction.commit", "commit")
  private static let rollback = Statement<NoRow>("transaction.rollback", "rollback")

  private init(on connection: Connection) { self.connection = connection }

  static func run<Value>(
    on connection: Connection,
    _ body: @EventLoop (Transaction) async throws(DatabaseError) -> Value
  ) async throws(DatabaseError) -> Value {
    // It leaves together with the first statement; its answer needs no waiting for.
    connection.send(StatementCall(begin.name, begin.sql, Parameters()))
    let transaction = Transaction(on: connection)
    do throws(DatabaseError) {
      let outcome = try await body(transaction)
      transaction.sendCommit()
      // After a failure that `body` kept to itself the server rolls back, and calls that a success.
      guard try await transaction.commitment?.settled().text.tag == "COMMIT" else {
        throw DatabaseError(.invalidTransaction, "a failed statement was passed over")
      }
      return outcome
    } catch {
      _ = try? await connection.run(rollback)
      throw error
    }
  }

  /// Sends the commit behind the statements that were sent, so that it takes no time of its own.
  ///
  /// After this the body only waits for what was sent. A statement that may refuse the transaction
  /// must fail by itself: its rows come too late.
  package func sendCommit() {
    guard commitment == nil else { return }
    let call = StatementCall(Self.commit)
    call.isAlone = false
    connection.send(call)
    commitment = call
  }

  /// Sends a statement without waiting for those before it: what is sent in one turn of the loop
  /// leaves together, and is answered together.
  ///
  /// When one of them fails, so do all that follow, with its error.
  package func send<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) -> SentStatement<Row> {
    let call = StatementCall(statement, repeat each values)
    call.isAlone = false
    connection.send(call)
    return SentStatement(call: call)
  }

  /// Runs one statement of the transaction.
  package func run<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(DatabaseError) -> [Row] {
    try await connection.run(statement, repeat each values).decode(Row.self)
  }

  /// Runs one that was put together before.
  @discardableResult
  package func run(_ call: StatementCall) async throws(DatabaseError) -> ResultSet {
    try await call.run(on: connection)
  }
}

/// A statement of a transaction that is under way.
@EventLoop package struct SentStatement<Row: RowDecodable> {
  fileprivate let call: StatementCall

  /// Its rows, when they have come.
  package func rows() async throws(DatabaseError) -> [Row] {
    try await call.settled().decode(Row.self)
  }
}

extension Connection {
  /// Runs a statement and waits for its result.
  func run<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) async throws(DatabaseError) -> ResultSet {
    try await StatementCall(statement, repeat each values).run(on: self)
  }
}
