/// The state of the connections.
///
/// Reasons are messages of libpq or the server, for an operator.
package enum DatabaseState: Equatable, Sendable {
  /// No attempt has failed yet.
  case connecting
  case connected
  /// Reads and writes have a connection each, but other lanes lack one.
  case incomplete(String)
  case away(String)
}

extension DatabaseError {
  /// Returns the error for callers while there is no connection.
  static func away(_ reason: DatabaseError?) -> DatabaseError {
    DatabaseError(
      .connectionFailure, reason.map { "PostgreSQL is away: \($0.message)" } ?? "PostgreSQL is away"
    )
  }
}

/// The statements, loans and waiters of a database's lanes at one moment.
package struct DatabaseLoad: Sendable {
  package let express: Int
  package let exclusive: Int
  package let exclusiveWaiting: Int
  package let search: Int
  package let searchWaiting: Int
  package let large: Int
  package let largeWaiting: Int
}
