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
  package var searchWaiting = 32
  /// How long a caller waits for a connection of the lane.
  package var exclusivePatience = Duration.seconds(1)
  package var searchPatience = Duration.seconds(2)
  /// Connections of a worker for reads of one large value.
  package var largeConnections = 1
  /// How long a read waits for the first connection of a worker that has just started.
  package var expressPatience = Duration.milliseconds(500)
  /// Reads under way at once on the shared connection.
  package var expressDepth = 4_096
  package var connectTimeout = Duration.seconds(3)
  /// The server ends a statement of the lane that takes longer.
  package var readTimeout = Duration.seconds(1)
  package var writeTimeout = Duration.seconds(3)
  package var searchTimeout = Duration.seconds(10)
  /// How long the server may stay silent before its connection counts as lost; more than the
  /// time-outs of reads and writes.
  package var silence = Duration.seconds(6)
  /// How long a transaction may do nothing before the server ends it.
  package var transactionIdleTimeout = Duration.seconds(10)

  package init(conninfo: String, applicationName: String) {
    self.conninfo = conninfo
    self.applicationName = applicationName
  }

  func connection(_ statementTimeout: Duration) -> ConnectionSettings {
    func milliseconds(_ time: Duration) -> String { "\(time.components.seconds * 1_000)" }
    return ConnectionSettings(
      conninfo,
      applicationName: applicationName,
      timeout: connectTimeout,
      parameters: [
        ("statement_timeout", milliseconds(statementTimeout)),
        ("idle_in_transaction_session_timeout", milliseconds(transactionIdleTimeout)),
        ("jit", "off"),
        // Times are read in one form, whatever the server's own settings say.
        ("timezone", "UTC"),
        ("datestyle", "ISO"),
      ]
    )
  }
}
