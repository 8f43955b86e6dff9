import EventLoop

/// The database to connect to, and the resources that a worker may use.
package struct DatabaseSettings: Sendable {
  package var conninfo: String
  package var applicationName: String
  /// The pooler that the connection string names, if any.
  package var pooler = Pooler.none
  /// The number of a worker's connections for writes and transactions.
  package var writeConnections = 4
  /// The number of a worker's connections for searches.
  package var searchConnections = 1
  /// The number of callers that may wait for a connection of the lane; one more is refused.
  package var exclusiveWaiting = 1_024
  package var searchWaiting = 64
  package var largeWaiting = 256
  /// The time that a caller waits for a connection of the lane.
  package var exclusivePatience = Duration.seconds(1)
  package var searchPatience = Duration.seconds(2)
  package var largePatience = Duration.seconds(4)
  /// The number of a worker's connections for reads with large results.
  ///
  /// A user gets only one.
  package var largeConnections = 2
  /// The time that a read waits for the first connection of a worker that has just started.
  package var expressPatience = Duration.milliseconds(500)
  /// The number of simultaneous reads on the shared connection.
  package var expressDepth = 4_096
  package var connectTimeout = Duration.seconds(2)
  /// The time after which the server ends a statement of the lane.
  package var readTimeout = Duration.seconds(1)
  package var writeTimeout = Duration.seconds(3)
  package var searchTimeout = Duration.seconds(10)
  package var largeTimeout = Duration.seconds(10)
  /// The time after which the server ends a write that waits for a lock and so holds a connection.
  package var lockTimeout = Duration.seconds(1)
  /// The time that the server may be silent on a connection before it gets a probe.
  package var suspicion = Duration.milliseconds(500)
  /// The time that the server may be silent after the time-out of a statement.
  ///
  /// After that, its connection counts as lost.
  package var grace = Duration.seconds(1)
  /// The time that a transaction may be idle before the server ends it.
  package var transactionIdleTimeout = Duration.seconds(10)
  /// The statements for the nodes of a database that may be distributed; nil to guard no nodes.
  package var nodes: NodeSettings?
  /// Observes each statement; nil for none.
  package var observer: StatementObserver?

  /// Sets the time that a write waits for a connection, and then for a lock.
  package mutating func letWritesWait(_ time: Duration) {
    exclusivePatience = time
    lockTimeout = time
    writeTimeout = time + .seconds(2)
  }

  /// The number of a worker's connections, with the one for reads.
  package var allConnections: Int { 1 + writeConnections + searchConnections + largeConnections }

  package init(conninfo: String, applicationName: String) {
    self.conninfo = conninfo
    self.applicationName = applicationName
  }

  /// Returns a connection's settings, which override those of the server, database and role.
  ///
  /// With a pooler, it has no settings, since the role has them.
  /// - Parameters:
  ///   - statementTimeout: the time after which the server ends a statement.
  ///   - lockTimeout: the time after which a statement stops waiting for a lock; zero for none.
  ///   - mayScan: false if statements find all rows by keys. PostgreSQL keeps a plan while a
  ///     table grows. A plan made for an empty table would scan it.
  /// - Returns: the settings for `Connection.open`.
  func connection(
    _ statementTimeout: Duration, lockTimeout: Duration = .zero, mayScan: Bool = true
  ) -> ConnectionSettings {
    var parameters: [(String, String)] = []
    if pooler == .none {
      parameters = session(statementTimeout, lockTimeout: lockTimeout)
      parameters += [("jit", "off"), ("enable_seqscan", mayScan ? "on" : "off")]
    }
    var settings = ConnectionSettings(
      conninfo, applicationName: applicationName, timeout: connectTimeout, parameters: parameters
    )
    settings.preparesStatements = pooler != .unprepared
    settings.observer = observer
    return settings
  }
}
