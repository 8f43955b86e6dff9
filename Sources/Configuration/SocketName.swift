/// The address of a worker's socket.
package struct SocketName {
  package let path: String?
  package let address: ListenAddress?

  package init(_ index: Int, _ configuration: Configuration) {
    address = configuration.listen?.following(index)
    path = address == nil ? "\(configuration.socketDirectory)/worker-\(index).sock" : nil
  }

  /// The address in the form of nginx's configuration.
  ///
  /// If a worker listens on every address, nginx is assumed to be on the same machine.
  package var nginx: String { path.map { "unix:\($0)" } ?? address?.reached ?? "" }

  /// Returns whether a connection to nginx's address reaches a socket.
  ///
  /// - Parameter name: the socket's path, or its address and port.
  /// - Returns: also true for a socket that listens on every address.
  package func isReached(by name: String) -> Bool {
    guard let address else { return name == path }
    guard let found = ListenAddress(name) else { return false }
    return found.port == address.port
      && (found.host == address.host || ["0.0.0.0", "::"].contains(found.host))
  }

  /// The address in the form of systemd's `ListenStream`.
  package var listenStream: String { path ?? address?.description ?? "" }
}
