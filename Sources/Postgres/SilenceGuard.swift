import EventLoop

/// Detects a silent server early, for all connections at once.
///
/// A frozen server, or one behind a cut network, closes no connection and ends no statement. If a
/// connection receives nothing for a while, the guard probes the server. It uses the connection for
/// reads, whose watchdog is the fastest. Without a reply, the guard fails all connections on which
/// the server is silent. New calls then fail at once, until a new connection opens.
@EventLoop final class SilenceGuard {
  /// The time without data after which a connection suspects the server.
  let suspicion: Duration
  /// The time that the server may be silent after the time-out of a statement.
  private let grace: Duration
  private var watched: [WatchedConnection] = []
  /// The guard of a database that may be distributed.
  var nodes: NodeGuard?
  /// The error that made the server count as silent; nil while it does not.
  private(set) var failure: DatabaseError?
  /// Sends a probe to the server.
  var probe: (@EventLoop () -> Void)?
  /// Callbacks for a server that was found silent.
  var onSilence: [@EventLoop () -> Void] = []

  private struct WatchedConnection { weak var connection: PersistentConnection? }

  init(suspicion: Duration, grace: Duration) {
    self.suspicion = suspicion
    self.grace = grace
  }

  func watch(_ connection: PersistentConnection) {
    watched.append(WatchedConnection(connection: connection))
  }

  /// Returns the time that a connection may receive nothing while a reply is due.
  ///
  /// - Parameter timeout: the time after which the server ends a statement.
  /// - Returns: the limit.
  func limit(for timeout: Duration) -> Duration { timeout + grace }

  /// Fails all silent connections, after the connection for reads has reached its limit.
  func serverIsSilent(_ error: DatabaseError) {
    // Then the server waited for a node, and all others have what they need.
    guard nodes?.hasHeardCoordinator(within: suspicion * 2) != true else { return }
    failure = error
    for watched in watched { watched.connection?.connection?.giveUp(ifSilentFor: suspicion, error) }
    for body in onSilence { body() }
  }

  /// Replaces the connections that wait for a silent node.
  func nodeIsSilent() {
    for watched in watched { watched.connection?.renew(ifSilentFor: suspicion, nodes) }
  }

  /// Clears the failure after a connection for reads has opened.
  func serverIsThere() { failure = nil }
}
