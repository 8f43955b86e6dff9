import CPostgres
import EventLoop

/// SQL that is not prepared, for tools.
extension Connection {
  /// Runs one or several statements by the simple protocol.
  ///
  /// Use it only on a connection without other users; no prepared statement may be in progress.
  /// - Returns: one result for each statement.
  /// - Throws: the failure of the first failed statement. The earlier ones have run, unless the
  ///   text has no transaction of its own. Then the server runs the whole text as one transaction.
  @discardableResult
  package func script(_ sql: String) async throws(DatabaseError) -> [TextResult] {
    try await plain { unsafe PQsendQuery(pointer, sql) }.map(\.text)
  }

  /// Runs one statement with parameters as text.
  ///
  /// Use it only on a connection without other users; no prepared statement may be in progress.
  @discardableResult
  package func query(
    _ sql: String, _ parameters: [String?] = []
  ) async throws(DatabaseError) -> TextResult {
    let results = try await plain {
      unsafe Parameters(parameters).withPointers { values, count in
        unsafe PQsendQueryParams(pointer, sql, count, nil, values, nil, nil, 0)
      }
    }
    return results.last?.text ?? TextResult(columns: [], rows: [], tag: "")
  }

  private func plain(_ send: () -> Int32) async throws(DatabaseError) -> [ResultSet] {
    try await unsafe withUnsafeContinuation {
      (continuation: UnsafeContinuation<Result<[ResultSet], DatabaseError>, Never>) in
      if let failure { return unsafe continuation.resume(returning: .failure(failure)) }
      precondition(expected.isEmpty, "plain SQL on a connection in use")
      guard unsafe PQexitPipelineMode(pointer) == 1, send() == 1 else {
        return unsafe continuation.resume(returning: .failure(lastError))
      }
      expected.append(.plain(unsafe PlainCall(continuation)))
      flush()
    }.get()
  }
}
