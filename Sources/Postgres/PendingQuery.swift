package import EventLoop

/// One call of a statement with parameters, and its result.
@safe @EventLoop package final class PendingQuery {
  let name: StaticString
  let sql: SQL
  /// SQL that is sent together with its values; nil for a prepared statement.
  let composed: String?
  let parameters: Parameters
  /// The calls that fail together with this one; nil for an independent call.
  ///
  /// Only an independent call is sent again after an earlier call failed.
  var group: CallGroup?
  var attempts = 0
  private var rare: RareState?
  private var result: ResultSet?
  private var continuation: UnsafeContinuation<Void, Never>?

  package convenience init<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) {
    var parameters = Parameters()
    for value in repeat each values { parameters.append(value) }
    self.init(statement.name, statement.sql, parameters)
  }

  package convenience init<Row, First: Bindable, Second: Bindable>(
    _ statement: Statement<Row, First, Second>, _ first: First, _ second: Second
  ) {
    var parameters = Parameters()
    parameters.append(first)
    parameters.append(second)
    self.init(statement.name, statement.sql, parameters)
  }

  package init(_ name: StaticString, _ sql: SQL, _ parameters: Parameters) {
    self.name = name
    self.sql = sql
    composed = nil
    self.parameters = parameters
  }

  package convenience init<Row>(_ statement: ComposedStatement<Row>) {
    self.init(composed: statement.sql, statement.parameters)
  }

  private init(composed: String, _ parameters: Parameters) {
    name = ""
    sql = ""
    self.composed = composed
    self.parameters = parameters
  }

  /// Sends the call on a connection and waits for its result; it may be sent again after a failure.
  func run(on connection: Connection) async throws(DatabaseError) -> ResultSet {
    await unsafe withUnsafeContinuation { unsafe start(on: connection, $0) }
    return try outcome()
  }

  /// Sends the call on a connection, and resumes `continuation` when there is a result.
  @unsafe func start(on connection: Connection, _ continuation: UnsafeContinuation<Void, Never>) {
    forgetOutcome()
    unsafe self.continuation = continuation
    connection.send(self)
  }

  /// Prepares the call to be sent again.
  func forgetOutcome() {
    result = nil
    rare = nil
    attempts = 0
  }

  /// Waits for the result of a call that was sent without waiting.
  func settled() async throws(DatabaseError) -> ResultSet {
    if !isSettled {
      await unsafe withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
        if isSettled {
          unsafe continuation.resume()
        } else {
          unsafe self.continuation = continuation
        }
      }
    }
    return try outcome()
  }

  private var isSettled: Bool { result != nil || rare?.last != nil }

  func outcome() throws(DatabaseError) -> ResultSet {
    if let result { return result }
    throw rare?.last ?? DatabaseError(.connectionFailure, "a call ended without an outcome")
  }

  /// Reports the outcome to an observer, unless one is already waiting for it.
  func observe(_ observer: StatementObserver) {
    let rare = remember()
    if rare.observation == nil { rare.observation = StatementObservation(receive: observer()) }
  }

  func complete(_ result: ResultSet) {
    self.result = result
    rare?.endObservation(of: self, rows: result.affectedRows)
    resume()
  }

  func fail(_ error: DatabaseError) {
    let error = group?.cause(of: error) ?? error
    let rare = remember()
    rare.last = error
    rare.endObservation(of: self, rows: 0, error.state)
    resume()
  }

  /// The error of its preparation.
  var preparationFailure: DatabaseError? {
    get { rare?.preparation }
    set { remember().preparation = newValue }
  }

  private func remember() -> RareState {
    let rare = rare ?? RareState()
    self.rare = rare
    return rare
  }

  /// State that most calls never need.
  @EventLoop private final class RareState {
    var preparation: DatabaseError?
    var last: DatabaseError?
    var observation: StatementObservation?

    func endObservation(
      of call: PendingQuery, rows: @autoclosure () -> Int, _ failure: SQLState? = nil
    ) {
      observation?.end(call, rows: rows(), failure)
      observation = nil
    }
  }

  private func resume() {
    unsafe continuation?.resume()
    unsafe continuation = nil
  }
}

/// Calls of one transaction, which all fail with the error of the first that fails.
///
/// The server reports only that their transaction has failed.
@EventLoop final class CallGroup {
  private(set) var failure: DatabaseError?

  func cause(of error: DatabaseError) -> DatabaseError {
    let cause = failure ?? error
    failure = cause
    return cause
  }
}
