package import EventLoop
package import Postgres

/// The statements of a request.
extension RequestContext {
  /// Runs a read of bounded cost, on the express lane.
  @inline(__always)
  package func read<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(Failure) -> [Row] {
    let call = PendingQuery(statement, repeat each values)
    assertOneConnection()
    let start = EventLoop.now()
    do throws(DatabaseError) {
      let result = try await database.answer(to: call)
      databaseNanoseconds += EventLoop.now() - start
      return try result.decode(Row.self)
    } catch {
      throw failure(error, since: start)
    }
  }

  /// Runs a read on a lane that lends connections.
  ///
  /// The lane of writes sees every transaction that has committed. The express lane may read from an
  /// older view, as its statements share one.
  package func read<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value,
    on lane: DatabaseLane
  ) async throws(Failure) -> [Row] {
    try await answer(to: PendingQuery(statement, repeat each values), on: lane)
  }

  /// Runs several reads in one round trip, on a lane, or of bounded cost on the express lane.
  ///
  /// - Returns: the rows of each call.
  package func read<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ calls: [PendingQuery],
    on lane: DatabaseLane? = nil
  ) async throws(Failure) -> [[Row]] {
    try await metered { () async throws(DatabaseError) in
      let results =
        if let lane {
          try await database.answers(to: calls, on: lane, for: owner)
        } else {
          try await database.answers(to: calls)
        }
      var rows: [[Row]] = []
      for result in results { rows.append(try result.decode(Row.self)) }
      return rows
    }
  }

  /// Runs a read of bounded cost that returns at most one row.
  @inline(__always)
  package func first<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(Failure) -> Row? {
    try await first(of: PendingQuery(statement, repeat each values))
  }

  /// Runs such a read with two or three parameters, as the function above does.
  ///
  /// The compiler specializes no parameter packs across modules. This costs 400 instructions less.
  package func first<Row, First: Bindable, Second: Bindable>(
    _ statement: Statement<Row, First, Second>, _ first: First, _ second: Second
  ) async throws(Failure) -> Row? {
    try await self.first(of: PendingQuery(statement, first, second))
  }

  package func first<Row, First: Bindable, Second: Bindable, Third: Bindable>(
    _ statement: Statement<Row, First, Second, Third>, _ first: First, _ second: Second,
    _ third: Third
  ) async throws(Failure) -> Row? {
    try await self.first(of: PendingQuery(statement, first, second, third))
  }

  @inline(__always)
  private func first<Row: RowDecodable>(of call: PendingQuery) async throws(Failure) -> Row? {
    assertOneConnection()
    let start = EventLoop.now()
    do throws(DatabaseError) {
      let result = try await database.answer(to: call)
      databaseNanoseconds += EventLoop.now() - start
      return try result.decodeFirst(Row.self)
    } catch {
      throw failure(error, since: start)
    }
  }

  /// Asserts, in builds for tests, that the request has no open transaction.
  ///
  /// Such a statement would run on a second connection. It would not see what the transaction has
  /// written. It could also wait for a connection that only other waiting transactions can return.
  func assertOneConnection() {
    assert(!isInTransaction || owner == nil, "a statement beside the transaction of its request")
  }

  private func failure(_ error: DatabaseError, since start: UInt64) -> Failure {
    note(databaseTimeSince: start)
    return Failure(error)
  }

  /// Adds the time since `start` to the database time of the request.
  package func note(databaseTimeSince start: UInt64) {
    databaseNanoseconds += EventLoop.now() - start
  }

  /// Runs one statement that writes, on the exclusive lane.
  ///
  /// - Parameters:
  ///   - statement: the statement.
  ///   - values: its parameters.
  ///   - violation: the error if a new row breaks a check of its table; nil if none can.
  /// - Returns: the rows.
  /// - Throws: `violation`, `.overloaded`, `.databaseUnavailable`.
  package func write<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value,
    violation: @autoclosure () -> Failure? = nil
  ) async throws(Failure) -> [Row] {
    let call = PendingQuery(statement, repeat each values)
    return try await write(call, returning: Row.self, violation: violation())
  }

  /// Runs a prepared call that writes, and returns its rows, like the function above.
  package func write<Row: RowDecodable>(
    _ call: PendingQuery, returning type: Row.Type, violation: @autoclosure () -> Failure? = nil
  ) async throws(Failure) -> [Row] {
    let rows: [Row] = try await answer(to: call, on: .exclusive, violation: violation())
    hasWritten = true
    endWrite()
    return rows
  }

  /// Runs statements that write, each by a key of its own, as `Database.answers(to:on:for:)` does.
  ///
  /// - Returns: the rows of all.
  @discardableResult
  package func write<Row: RowDecodable>(
    _ calls: [PendingQuery], returning type: Row.Type = NoRow.self
  ) async throws(Failure) -> [Row] {
    hasWritten = true
    return try await metered { () async throws(DatabaseError) in
      try await database.write(calls, returning: type, for: owner)
    }
  }

  /// Runs a composed read, on the search lane.
  ///
  /// - Throws: `.searchTooSlow` if the server stopped it.
  package func read<Row>(_ statement: ComposedStatement<Row>) async throws(Failure) -> [Row] {
    var isTooSlow = false
    do throws(Failure) {
      return try await metered { () async throws(DatabaseError) in
        do throws(DatabaseError) {
          return try await database.answer(to: PendingQuery(statement), on: .search, for: owner)
            .decode(Row.self)
        } catch {
          isTooSlow = error.state == .queryCanceled
          throw error
        }
      }
    } catch {
      throw isTooSlow ? .searchTooSlow : error
    }
  }

  private func answer<Row: RowDecodable>(
    to call: PendingQuery, on lane: DatabaseLane, violation: @autoclosure () -> Failure? = nil
  ) async throws(Failure) -> [Row] {
    try await metered(violation()) { () async throws(DatabaseError) in
      try await database.answer(to: call, on: lane, for: owner).decode(Row.self)
    }
  }

  /// Measures the time of `body`, and maps its database errors.
  fileprivate func metered<Value>(
    _ violation: @autoclosure () -> Failure? = nil,
    _ body: @EventLoop () async throws(DatabaseError) -> Value
  ) async throws(Failure) -> Value {
    assertOneConnection()
    let start = EventLoop.now()
    defer { databaseNanoseconds += EventLoop.now() - start }
    do throws(DatabaseError) {
      return try await body()
    } catch {
      if error.state == .checkViolation, let violation = violation() { throw violation }
      throw failure(error)
    }
  }
}

/// Reads of bounded cost that share one round trip.
@EventLoop package struct ReadBatch {
  private(set) var calls: [PendingQuery] = []

  package init() {}

  /// Adds a read and returns its index.
  package mutating func add<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) -> Int {
    calls.append(PendingQuery(statement, repeat each values))
    return calls.count - 1
  }

  /// Adds reads and returns their indexes.
  package mutating func add(_ more: [PendingQuery]) -> Range<Int> {
    calls += more
    return calls.count - more.count..<calls.count
  }
}

/// The results of a batch.
@EventLoop package struct BatchResults {
  let results: [ResultSet]

  /// Returns the first row of a read; nil without one.
  package func first<Row: RowDecodable>(
    _ place: Int, as type: Row.Type = Row.self
  ) throws(Failure) -> Row? {
    do throws(DatabaseError) {
      return try results[place].decodeFirst(Row.self)
    } catch {
      throw Failure(error)
    }
  }

  /// Returns the rows of a read.
  package func rows<Row: RowDecodable>(
    _ place: Int, as type: Row.Type = Row.self
  ) throws(Failure) -> [Row] {
    do throws(DatabaseError) {
      return try results[place].decode(Row.self)
    } catch {
      throw Failure(error)
    }
  }
}

/// Returns what a read of a batch has found.
package typealias BatchRead<Value> = @EventLoop (BatchResults) throws(Failure) -> Value

extension RequestContext {
  /// Runs the reads of a batch in one round trip, on the express lane.
  package func read(_ batch: ReadBatch) async throws(Failure) -> BatchResults {
    let results = try await metered { () async throws(DatabaseError) in
      try await database.answers(to: batch.calls)
    }
    return BatchResults(results: results)
  }
}
