package import EventLoop

/// One call of a statement with parameters, and what came of it.
@safe @EventLoop package final class StatementCall {
  let name: StaticString
  let sql: StaticString
  /// SQL that is sent with its values at once; nil for a statement that is prepared.
  let composed: String?
  let parameters: Parameters
  var attempts = 0
  var preparationFailure: DatabaseError?
  private var result: ResultSet?
  private var failure: DatabaseError?
  private var continuation: UnsafeContinuation<Void, Never>?

  package convenience init<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) {
    self.init(statement.name, statement.sql, Parameters(repeat each values))
  }

  package init(
    _ name: StaticString,
    _ sql: StaticString,
    _ parameters: Parameters
  ) {
    self.name = name
    self.sql = sql
    composed = nil
    self.parameters = parameters
  }

  init(composed: String, _ parameters: Parameters) {
    name = ""
    sql = ""
    self.composed = composed
    self.parameters = parameters
  }

  /// Sends it on a connection and waits for its result; after a failure it may be sent again.
  func run(on connection: Connection) async throws(DatabaseError) -> ResultSet {
    result = nil
    failure = nil
    attempts = 0
    await unsafe withUnsafeContinuation {
      unsafe continuation = $0
      connection.send(self)
    }
    if let result { return result }
    throw failure ?? DatabaseError(.connectionFailure, "a call ended without an outcome")
  }

  func complete(_ result: ResultSet) {
    self.result = result
    resume()
  }

  func fail(_ error: DatabaseError) {
    failure = error
    resume()
  }

  private func resume() {
    unsafe continuation?.resume()
    unsafe continuation = nil
  }
}
