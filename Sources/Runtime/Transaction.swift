package import EventLoop
package import Postgres

/// A transaction of the domain.
///
/// An error of its body rolls it back, and is rethrown.
@EventLoop package struct Transaction {
  /// The request whose principal and app the statements have.
  package let context: RequestContext
  package let engine: DatabaseTransaction

  package var app: App { context.app }
  package var principal: Principal { context.principal }

  /// Sends a statement without waiting for those before it.
  ///
  /// Statements sent in one turn of the loop share one round trip. If one fails, all that follow
  /// fail.
  package func send<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) -> Sent<Row> {
    send(PendingQuery(statement, repeat each values), returning: Row.self)
  }

  /// Sends a prepared call, like the function above.
  package func send<Row: RowDecodable>(_ call: PendingQuery, returning type: Row.Type) -> Sent<Row>
  {
    Sent(statement: engine.send(call, returning: type), context: context)
  }

  /// Sends the reads of a batch without waiting.
  ///
  /// - Returns: a function that waits for their results.
  package func send(
    _ batch: ReadBatch
  ) -> @EventLoop () async throws(Failure) -> BatchResults {
    let sent = engine.send(batch.calls)
    return { () async throws(Failure) in
      do throws(DatabaseError) {
        return BatchResults(results: try await sent())
      } catch {
        throw context.failure(error)
      }
    }
  }

  /// Sends the commit after all statements so far, so that it takes no round trip of its own.
  ///
  /// After this, the body may only wait for statements that it has sent.
  package func sendCommit() { engine.sendCommit() }

  /// Runs a statement and returns its rows.
  package func run<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async throws(Failure) -> [Row] {
    try await send(statement, repeat each values).rows()
  }

  /// Checks that the principal may access a user, as `RequestContext.requireSession` does.
  ///
  /// - Throws: `.sessionEnded`, `.notFound`, `.databaseUnavailable`.
  package func requireSession(of user: UserID) async throws(Failure) {
    guard try await !run(PrincipalQueries.live, user, principal).isEmpty else { throw context.gone }
  }

  /// Returns the transaction for statements of another principal.
  package func acting(as principal: Principal) -> Transaction {
    let context = RequestContext(context.dependencies, app: app, principal: principal)
    return Transaction(context: context, engine: engine)
  }

  /// Returns the transaction for statements about a new user, who is not signed in yet.
  package func actingAsSystem() -> Transaction {
    acting(as: Principal(.system, in: app.id, scopes: .everything))
  }
}

/// A statement that a transaction has sent.
@EventLoop package struct Sent<Row: RowDecodable> {
  fileprivate let statement: SentStatement<Row>
  fileprivate let context: RequestContext

  /// Waits for the rows.
  ///
  /// - Parameters:
  ///   - undone: the error if a `require` of the statement fails.
  ///   - duplicate: the error if the key of a new row is taken.
  ///   - violation: the error if a new row breaks a check of its table.
  /// - Returns: the rows.
  /// - Throws: one of the three, or the error of the database.
  @discardableResult
  package func rows(
    undone: @autoclosure () -> Failure? = nil, duplicate: @autoclosure () -> Failure? = nil,
    violation: @autoclosure () -> Failure? = nil
  ) async throws(Failure) -> [Row] {
    do throws(DatabaseError) {
      return try await statement.rows()
    } catch {
      let failure: Failure? =
        switch error.state {
        case .undone: undone()
        case .uniqueViolation: duplicate()
        case .checkViolation: violation()
        default: nil
        }
      throw failure ?? context.failure(error)
    }
  }
}

/// A function that waits for statements that were sent.
package typealias Completion = @EventLoop () async throws(Failure) -> Void

extension RequestContext {
  /// Calls `afterWrite` once.
  func endWrite() {
    let call = afterWrite
    afterWrite = nil
    call?()
  }

  /// Runs statements of one user in a transaction; `body` may run again after a conflict.
  ///
  /// - Throws: errors of `body`, which roll the transaction back.
  package func transaction<Value>(
    _ body: @EventLoop (Transaction) async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    assertOneConnection()
    isInTransaction = true
    defer {
      isInTransaction = false
      endWrite()
    }
    var refusal: Failure?
    let start = EventLoop.now()
    do throws(DatabaseError) {
      let outcome = try await database.transaction(for: owner) {
        engine async throws(DatabaseError) in
        refusal = nil
        let transaction = Transaction(context: self, engine: engine)
        do throws(Failure) {
          return try await body(transaction)
        } catch {
          // After a conflict, the database repeats the body, and a server that is away is reported
          // as such, also if the body did not wait for the statement. Any other error is final.
          if let cause = engine.failure, cause.isConflict || cause.isServerAway {
            throw cause
          }
          refusal = error
          throw DatabaseError(.undone, "the body of the transaction has refused")
        }
      }
      note(databaseTimeSince: start)
      hasWritten = true
      return outcome
    } catch {
      note(databaseTimeSince: start)
      throw refusal ?? failure(error)
    }
  }
}
