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

  /// As systemd is told to listen on it.
  package var listenStream: String { path ?? address?.description ?? "" }
}
