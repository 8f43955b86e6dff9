package import Outbound

/// The network address of a client, as a trusted web server has sent it.
package struct ClientAddress: Sendable {
  private let ip: IPAddress?
  /// Whether the client is on this machine.
  ///
  /// nginx sends `unix:` for a client on a Unix socket.
  package let isLocal: Bool

  package init(_ text: String?) {
    ip = text.flatMap(IPAddress.init)
    isLocal = text == "unix:" || ip?.isLoopback == true
  }

  /// The IP address in one spelling, with mapped IPv4 as IPv4; nil if the text is no IP address.
  package var text: String? { ip?.description }

  /// The network of many subscribers in CIDR; nil if the text is no IP address.
  package var truncatedText: String? { ip?.truncated }

  /// The network of the address, as `IPAddress.network` has it; empty without an address.
  package var network: [UInt8] { ip?.network ?? [] }

  /// The site of the network, as `IPAddress.site` has it; nil without an address.
  package var site: [UInt8]? { ip?.site }

  /// Returns whether the client is in one of the networks.
  package func isIn(_ networks: [IPNetwork]) -> Bool {
    !networks.isEmpty && ip.map { ip in networks.contains { $0.contains(ip) } } == true
  }
}
