import EventLoop

/// Finds out soon, and once, that the server is silent.
///
/// A frozen server, or one behind a cut network, closes no connection and ends no statement. A
/// connection that hears nothing for a while has the guard ask for a sign of life on the connection
/// for reads, whose watchdog is the fastest. When no sign comes, the guard gives up all connections
/// on which the server is silent. New calls then fail at once, until a connection is made anew.
@EventLoop final class SilenceGuard {
  /// After how long without a word a connection suspects the server.
  let suspicion: Duration
  /// How long the server may be silent after the time-out of a statement.
  private let grace: Duration
  private var watched: [WatchedConnection] = []
  /// Why the server counts as silent; nil while it does not.
  private(set) var failure: DatabaseError?
  /// Asks the server for a sign of life.
  var probe: (@EventLoop () -> Void)?
  /// Called when the server is found silent.
  var onSilence: [@EventLoop () -> Void] = []

  private struct WatchedConnection { weak var connection: PersistentConnection? }

  init(suspicion: Duration, grace: Duration) {
    self.suspicion = suspicion
    self.grace = grace
  }

  func watch(_ connection: PersistentConnection) {
    watched.append(WatchedConnection(connection: connection))
  }

  /// How long a connection may hear nothing while an answer is owed, where the server ends a
  /// statement after `timeout`.
  func limit(for timeout: Duration) -> Duration { timeout + grace }

  /// Hears that the server said nothing for as long as it may, on the connection for reads.
  func serverIsSilent(_ error: DatabaseError) {
    failure = error
    for watched in watched { watched.connection?.connection?.giveUp(ifSilentFor: suspicion, error) }
    for body in onSilence { body() }
  }

  /// Hears that there is a connection for reads.
  func serverIsThere() { failure = nil }
}
