import EventLoop

/// A connection pooler between the program and PostgreSQL, in transaction mode.
///
/// Each transaction may run on another session of the server. So no setting of a session can be
/// sent with a connection, and the role needs them instead.
package enum Pooler: String, CaseIterable, Sendable {
  /// None, so a connection is a session of the server.
  case none
  /// A pooler that prepares the statements of a connection on each session.
  case prepared
  /// A pooler that does not, so that each statement is parsed and planned at each call.
  case unprepared
}

/// A setting of a session that the statements rely on.
package struct SessionSetting: Equatable, Sendable {
  package let name: String
  package let value: String
  /// Whether any value but zero will do.
  package let isLimit: Bool

  /// Returns whether a value of the server will do.
  package func accepts(_ found: String) -> Bool {
    guard !isLimit else { return found != "0" }
    // The server prints the order of days and months after the style of dates.
    return found == value || found.hasPrefix(value + ",")
  }
}

extension DatabaseSettings {
  /// The settings that the role must have if a pooler stands before PostgreSQL.
  package var sessionSettings: [SessionSetting] {
    let longest = [readTimeout, writeTimeout, searchTimeout, largeTimeout].max() ?? searchTimeout
    return session(longest, lockTimeout: lockTimeout).map { name, value in
      SessionSetting(name: name, value: value, isLimit: name.hasSuffix("_timeout"))
    }
  }

  /// Returns the settings of a session, apart from those that only make it faster.
  func session(_ statementTimeout: Duration, lockTimeout: Duration) -> [(String, String)] {
    func milliseconds(_ time: Duration) -> String { "\(time.nanoseconds / 1_000_000)" }
    return [
      ("statement_timeout", milliseconds(statementTimeout)),
      ("lock_timeout", milliseconds(lockTimeout)),
      ("idle_in_transaction_session_timeout", milliseconds(transactionIdleTimeout)),
      // Statements rely on this: each sees all rows committed before it.
      ("default_transaction_isolation", "read committed"),
      ("default_transaction_deferrable", "off"),
      // Fixed output formats for parsing.
      ("timezone", "UTC"),
      ("datestyle", "ISO"),
      ("bytea_output", "hex"),
    ]
  }
}
