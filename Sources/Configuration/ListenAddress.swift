import Encoding
import Glibc
import Outbound

/// A TCP address with a numeric host.
package struct ListenAddress: Sendable, CustomStringConvertible {
  package let host: String
  package let port: UInt16
  package let isIPv6: Bool

  /// Parses an address.
  ///
  /// - Parameter text: `127.0.0.1:9000` or `[::1]:9000`.
  package init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...])
    else { return nil }
    var host = text[..<colon]
    isIPv6 = host.hasPrefix("[") && host.hasSuffix("]")
    if isIPv6 { host = host.dropFirst().dropLast() }
    var number = in6_addr()
    guard port > 0, inet_pton(isIPv6 ? AF_INET6 : AF_INET, String(host), &number) == 1 else {
      return nil
    }
    self.host = String(host)
    self.port = port
  }

  private init(_ host: String, _ port: UInt16, isIPv6: Bool) {
    (self.host, self.port, self.isIPv6) = (host, port, isIPv6)
  }

  /// Returns the address with a port higher by `count`, or nil if the port is too high.
  package func following(_ count: Int) -> ListenAddress? {
    UInt16(exactly: Int(port) + count).map { ListenAddress(host, $0, isIPv6: isIPv6) }
  }

  package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// The address to which a program on the same machine connects.
  package var reached: String {
    switch host {
    case "0.0.0.0": "127.0.0.1:\(port)"
    case "::": "[::1]:\(port)"
    default: description
    }
  }
}

/// The name of this machine, in characters that need no escaping.
package enum HostName {
  package static let own: String = {
    var bytes = [CChar](repeating: 0, count: 256)
    gethostname(&bytes, bytes.count - 1)
    let name = bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    let isPlain = name.allSatisfy { byte in
      byte.isVisible && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
    return isPlain ? String(decoding: name, as: UTF8.self) : "unnamed"
  }()

  /// Returns the name of this host for mail relays, many of which refuse one that is not fully
  /// qualified.
  ///
  /// - Parameter issuer: the deployment's URL.
  /// - Returns: the host of the issuer or the name of this host, if it is fully qualified; else an
  ///   address literal.
  package static func forRelays(issuer: String) -> String {
    let start = issuer.firstRange(of: "://")?.upperBound ?? issuer.startIndex
    let host = String(issuer[start...].prefix { $0 != "/" && $0 != ":" })
    return [host, own].first { $0.contains(".") && MailAddress.isClientName($0) } ?? "[127.0.0.1]"
  }
}

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
