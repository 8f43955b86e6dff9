import EventLoop

/// Where the database is and how much of it a worker may use.
package struct DatabaseSettings: Sendable {
  package var conninfo: String
  package var applicationName: String
  /// Connections of a worker for writes and transactions.
  package var exclusiveConnections = 4
  /// Connections of a worker for searches.
  package var searchConnections = 1
  /// Callers that may wait for a connection of the lane; one more is refused.
  package var exclusiveWaiting = 1_024
  package var searchWaiting = 64
  package var largeWaiting = 256
  /// How long a caller waits for a connection of the lane.
  package var exclusivePatience = Duration.seconds(1)
  package var searchPatience = Duration.seconds(2)
  package var largePatience = Duration.seconds(4)
  /// Connections of a worker for reads with large answers: one user has one of them.
  package var largeConnections = 2
  /// How long a read waits for the first connection of a worker that has just started.
  package var expressPatience = Duration.milliseconds(500)
  /// Reads under way at once on the shared connection.
  package var expressDepth = 4_096
  package var connectTimeout = Duration.seconds(2)
  /// The server ends a statement of the lane that takes longer.
  package var readTimeout = Duration.seconds(1)
  package var writeTimeout = Duration.seconds(3)
  package var searchTimeout = Duration.seconds(10)
  package var largeTimeout = Duration.seconds(10)
  /// The server ends a write that waits longer for a lock, so that it keeps no connection for long.
  package var lockTimeout = Duration.seconds(1)
  /// How long the server may be silent on a connection before it is asked for a sign of life.
  package var suspicion = Duration.seconds(1)
  /// How long the server may be silent after the time-out of a statement, before its connection
  /// counts as lost.
  package var grace = Duration.seconds(1)
  /// How long a transaction may do nothing before the server ends it.
  package var transactionIdleTimeout = Duration.seconds(10)

  package init(conninfo: String, applicationName: String) {
    self.conninfo = conninfo
    self.applicationName = applicationName
  }

  /// Returns a connection's settings, which override those of the server, database and role.
  ///
  /// - Parameters:
  ///   - statementTimeout: the time after which the server ends a statement.
  ///   - lockTimeout: the time after which a statement stops waiting for a lock; zero for none.
  ///   - mayScan: false if statements find all rows by keys. PostgreSQL keeps a plan while a table
  ///     grows, and a plan that was made for an empty table would scan it.
  /// - Returns: the settings for `Connection.open`.
  func connection(
    _ statementTimeout: Duration,
    lockTimeout: Duration = .zero,
    mayScan: Bool = true
  ) -> ConnectionSettings {
    func milliseconds(_ time: Duration) -> String { "\(time.nanoseconds / 1_000_000)" }
    return ConnectionSettings(
      conninfo,
      applicationName: applicationName,
      timeout: connectTimeout,
      parameters: [
        ("statement_timeout", milliseconds(statementTimeout)),
        ("lock_timeout", milliseconds(lockTimeout)),
        ("idle_in_transaction_session_timeout", milliseconds(transactionIdleTimeout)),
        // Statements rely on this: each sees all that was committed before it.
        ("default_transaction_isolation", "read committed"),
        ("default_transaction_deferrable", "off"),
        ("jit", "off"),
        ("enable_seqscan", mayScan ? "on" : "off"),
        // Values are read in one form.
        ("timezone", "UTC"),
        ("datestyle", "ISO"),
        ("bytea_output", "hex"),
      ]
    )
  }
}
