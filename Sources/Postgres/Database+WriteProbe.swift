extension Database {
  /// Runs a write on a new connection and rolls it back.
  ///
  /// An old connection may keep using open files that PostgreSQL cannot open for a new one.
  /// - Returns: the reason why writes fail, or nil.
  package func attempt<Row, each Value>(
    _ statement: Statement<Row, repeat each Value>, _ values: repeat each Value
  ) async -> DatabaseError? {
    do throws(DatabaseError) {
      let connection = try await Connection.open(
        settings.connection(settings.writeTimeout, lockTimeout: settings.lockTimeout),
        watch: ConnectionWatch(
          suspicion: guardian.suspicion, limit: guardian.limit(for: settings.writeTimeout),
          onSuspicion: {}, onSilence: { _ in }
        )
      )
      defer { connection.close() }
      try await DatabaseTransaction.run(on: connection, guardian.nodes) {
        (transaction) async throws(DatabaseError) in
        _ = try await transaction.run(statement, repeat each values)
        throw DatabaseError(.undone, "an attempt")
      }
    } catch {
      writeFault = error.state == .undone ? nil : error
    }
    return writeFault
  }
}
