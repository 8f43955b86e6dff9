import Glibc

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
