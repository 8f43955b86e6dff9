package import EventLoop

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
