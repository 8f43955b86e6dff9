internal import CCurl
internal import Glibc

/// An IP address.
///
/// An IPv4 address mapped into IPv6, as dual-stack sockets report it, is treated as the IPv4
/// address.
package struct IPAddress: Sendable, Equatable {
  /// 4 or 16 bytes, in network order.
  package let bytes: [UInt8]

  fileprivate init(network bytes: [UInt8]) {
    self.bytes = bytes.starts(with: Self.mapping) ? Array(bytes.suffix(4)) : bytes
  }

  /// Parses `192.0.2.1`, `2001:db8::1` or `::ffff:192.0.2.1`; nil for other text.
  package init?(_ text: String) {
    var bytes = [UInt8](repeating: 0, count: 16)
    if unsafe inet_pton(AF_INET, text, &bytes) == 1 {
      self.init(network: Array(bytes.prefix(4)))
    } else if unsafe inet_pton(AF_INET6, text, &bytes) == 1 {
      self.init(network: bytes)
    } else {
      return nil
    }
  }

  /// Reads a socket address; nil if it is of another family.
  init?(_ address: UnsafePointer<sockaddr>) {
    let raw = unsafe UnsafeRawPointer(address)
    switch unsafe Int32(address.pointee.sa_family) {
    case AF_INET:
      let inner = unsafe raw.load(as: sockaddr_in.self).sin_addr
      self.init(network: unsafe withUnsafeBytes(of: inner) { unsafe Array($0) })
    case AF_INET6:
      let inner = unsafe raw.load(as: sockaddr_in6.self).sin6_addr
      self.init(network: unsafe withUnsafeBytes(of: inner) { unsafe Array($0) })
    default:
      return nil
    }
  }

  /// Whether it is a loopback address.
  package var isLoopback: Bool {
    bytes.count == 4 ? bytes[0] == 127 : bytes == Self.loopback
  }

  /// The network of one subscriber: the first 64 bits of IPv6, or the whole IPv4 address.
  package var network: [UInt8] { bytes.count == 4 ? bytes : Array(bytes.prefix(8)) }

  /// The first 48 bits of an IPv6 address; nil for IPv4.
  ///
  /// A provider may assign such a site, with 65,536 networks, to one customer.
  /// - Source: RFC 6177, BCP 157.
  package var site: [UInt8]? { bytes.count == 4 ? nil : Array(bytes.prefix(6)) }

  /// The network of many subscribers in CIDR: 24 bits of IPv4, or 48 bits of IPv6.
  package var truncated: String {
    let kept = bytes.count == 4 ? 3 : 6
    let rest = [UInt8](repeating: 0, count: bytes.count - kept)
    return "\(IPAddress(network: bytes.prefix(kept) + rest))/\(kept * 8)"
  }

  /// Whether it is an internet address.
  ///
  /// Loopback, private, link-local, multicast and reserved addresses are not. Clouds keep instance
  /// data at link-local addresses. For a NAT64 address, the embedded IPv4 address counts; other
  /// tunnels are refused.
  /// - Source: IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates).
  package var isPublic: Bool {
    guard bytes.count == 16 else { return !Self.reserved.contains { $0.contains(bytes) } }
    if bytes.starts(with: Self.translation) {
      let carried = Array(bytes.suffix(4))
      return !Self.reserved.contains { $0.contains(carried) }
    }
    return Self.global.contains(bytes) && !Self.reservedOfGlobal.contains { $0.contains(bytes) }
  }

  /// Whether it is an address of one other machine, in any network.
  ///
  /// The kernel connects unspecified addresses to this machine, as it does loopback ones. Clouds keep
  /// instance data at link-local addresses. For a NAT64 address, the embedded IPv4 address counts.
  package var isRoutable: Bool {
    guard bytes.count == 16 else { return !Self.unroutable.contains { $0.contains(bytes) } }
    if bytes.starts(with: Self.translation) {
      let carried = Array(bytes.suffix(4))
      return !Self.unroutable.contains { $0.contains(carried) }
    }
    return !Self.unroutableOfIPv6.contains { $0.contains(bytes) }
  }

  private static let unroutable = [
    IPNetwork(prefix: [0], bits: 8), IPNetwork(prefix: [127], bits: 8),
    IPNetwork(prefix: [169, 254], bits: 16), IPNetwork(prefix: [224], bits: 3),
  ]
  /// Unspecified, loopback and IPv4-compatible addresses, link-local ones, and multicast.
  private static let unroutableOfIPv6 = [
    IPNetwork(prefix: Array(repeating: 0, count: 12), bits: 96),
    IPNetwork(prefix: [0xfe, 0x80], bits: 10), IPNetwork(prefix: [0xff], bits: 8),
  ]
  private static let reserved = [
    IPNetwork(prefix: [0], bits: 8), IPNetwork(prefix: [10], bits: 8),
    IPNetwork(prefix: [100, 64], bits: 10), IPNetwork(prefix: [127], bits: 8),
    IPNetwork(prefix: [169, 254], bits: 16), IPNetwork(prefix: [172, 16], bits: 12),
    IPNetwork(prefix: [192, 0, 0], bits: 24), IPNetwork(prefix: [192, 0, 2], bits: 24),
    IPNetwork(prefix: [192, 88, 99], bits: 24), IPNetwork(prefix: [192, 168], bits: 16),
    IPNetwork(prefix: [198, 18], bits: 15), IPNetwork(prefix: [198, 51, 100], bits: 24),
    IPNetwork(prefix: [203, 0, 113], bits: 24), IPNetwork(prefix: [224], bits: 3),
  ]
  /// `::ffff:0:0/96`, RFC 4291 section 2.5.5.2.
  private static let mapping: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
  /// `64:ff9b::/96`, RFC 6052 section 2.1.
  private static let translation: [UInt8] = [0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0]
  /// `::1`.
  private static let loopback: [UInt8] = Array(repeating: 0, count: 15) + [1]
  /// All global unicast addresses, `2000::/3`.
  private static let global = IPNetwork(prefix: [0x20], bits: 3)
  /// The reserved parts of these: protocol assignments with Teredo, documentation, and 6to4.
  private static let reservedOfGlobal = [
    IPNetwork(prefix: [0x20, 0x01, 0x00], bits: 23),
    IPNetwork(prefix: [0x20, 0x01, 0x0d, 0xb8], bits: 32),
    IPNetwork(prefix: [0x20, 0x02], bits: 16), IPNetwork(prefix: [0x3f, 0xff, 0x00], bits: 20),
  ]
}

extension IPAddress: CustomStringConvertible {
  package var description: String {
    let family = bytes.count == 4 ? AF_INET : AF_INET6
    return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
      text in
      guard
        unsafe inet_ntop(family, bytes, text.baseAddress, socklen_t(INET6_ADDRSTRLEN)) != nil,
        let start = text.baseAddress
      else { return "" }
      return unsafe String(cString: start)
    }
  }
}

/// The addresses with a common prefix.
package struct IPNetwork: Sendable {
  private let prefix: [UInt8]
  private let bits: Int

  /// Creates a network.
  ///
  /// - Parameters:
  ///   - prefix: at least as many bytes as `bits` needs.
  ///   - bits: the length of the prefix.
  init(prefix: [UInt8], bits: Int) { (self.prefix, self.bits) = (prefix, bits) }

  /// Parses `10.0.0.0/8`, `2001:db8::/32`, or a single address; nil for other text.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
    let longest = address.bytes.count * 8
    guard let bits = parts.count == 1 ? longest : Int(parts[1]), parts.count <= 2,
      (0...longest).contains(bits)
    else { return nil }
    self.init(prefix: address.bytes, bits: bits)
  }

  /// Returns whether the network contains an address; false for one of another family.
  package func contains(_ address: IPAddress) -> Bool {
    address.bytes.count == prefix.count && contains(address.bytes)
  }

  func contains(_ bytes: [UInt8]) -> Bool {
    for (index, byte) in prefix.enumerated() {
      let significant = min(8, bits - index * 8)
      guard significant > 0 else { break }
      guard (bytes[index] ^ byte) >> (8 - significant) == 0 else { return false }
    }
    return true
  }
}

extension IPNetwork: CustomStringConvertible {
  package var description: String { "\(IPAddress(network: prefix))/\(bits)" }
}
