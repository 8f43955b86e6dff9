/// Where a worker listens.
package struct SocketName {
  package let path: String?
  package let address: ListenAddress?

  package init(_ index: Int, _ configuration: Configuration) {
    address = configuration.listen?.following(index)
    path = address == nil ? "\(configuration.socketDirectory)/worker-\(index).sock" : nil
  }

  /// As nginx is told to connect to it.
  ///
  /// Where a worker listens on every address of the machine, nginx is taken to be on it.
  package var nginx: String { path.map { "unix:\($0)" } ?? address?.reached ?? "" }

  /// Whether whoever connects as nginx is told to comes to a socket.
  ///
  /// - Parameter name: of the socket: its path, or address and port.
  /// - Returns: also true for a socket that listens on every address.
  package func isReached(by name: String) -> Bool {
    guard let address else { return name == path }
    guard let found = ListenAddress(name) else { return false }
    return found.port == address.port
      && (found.host == address.host || ["0.0.0.0", "::"].contains(found.host))
  }

  /// As systemd is told to listen on it.
  package var listenStream: String { path ?? address?.description ?? "" }
}
