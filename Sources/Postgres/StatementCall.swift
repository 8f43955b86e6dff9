package import EventLoop

/// One call of a statement with parameters, and what came of it.
@safe @EventLoop package final class StatementCall {
  let name: StaticString
  let sql: StaticString
  /// SQL that is sent with its values at once; nil for a statement that is prepared.
  let composed: String?
  let parameters: Parameters
  /// False for one that means nothing without those before it: after a failure of theirs it is not
  /// sent again.
  var isAlone = true
  var attempts = 0
  private var failures: Failures?
  private var result: ResultSet?
  private var continuation: UnsafeContinuation<Void, Never>?

  package convenience init<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>,
    _ values: repeat each Value
  ) {
    var parameters = Parameters()
    for value in repeat each values { parameters.append(value) }
    self.init(statement.name, statement.sql, parameters)
  }

  package init(_ name: StaticString, _ sql: StaticString, _ parameters: Parameters) {
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

  /// Sends it on a connection and waits for its result; after a failure it may be sent again.
  func run(on connection: Connection) async throws(DatabaseError) -> ResultSet {
    await unsafe withUnsafeContinuation { unsafe start(on: connection, $0) }
    return try outcome()
  }

  /// Sends it on a connection; `continuation` is resumed when there is an outcome.
  @unsafe func start(on connection: Connection, _ continuation: UnsafeContinuation<Void, Never>) {
    result = nil
    failures = nil
    attempts = 0
    unsafe self.continuation = continuation
    connection.send(self)
  }

  /// Waits for the outcome of what was sent without that.
  func settled() async throws(DatabaseError) -> ResultSet {
    if result == nil, failures?.last == nil {
      await unsafe withUnsafeContinuation { unsafe continuation = $0 }
    }
    return try outcome()
  }

  func outcome() throws(DatabaseError) -> ResultSet {
    if let result { return result }
    throw failures?.last ?? DatabaseError(.connectionFailure, "a call ended without an outcome")
  }

  /// Whether it should be tried again.
  var metConflict: Bool { result == nil && failures?.last?.isConflict == true }

  func complete(_ result: ResultSet) {
    self.result = result
    resume()
  }

  func fail(_ error: DatabaseError) {
    remember().last = error
    resume()
  }

  /// Why it could not be prepared.
  var preparationFailure: DatabaseError? {
    get { failures?.preparation }
    set { remember().preparation = newValue }
  }

  private func remember() -> Failures {
    let failures = failures ?? Failures()
    self.failures = failures
    return failures
  }

  /// What most calls never need.
  private final class Failures {
    var preparation: DatabaseError?
    var last: DatabaseError?
  }

  private func resume() {
    unsafe continuation?.resume()
    unsafe continuation = nil
  }
}
