/// Addresses that begin alike.
package struct IPNetwork: Sendable {
  private let prefix: [UInt8]
  private let bits: Int

  /// - Parameters:
  ///   - prefix: as many bytes as the bits need at least.
  ///   - bits: how many count.
  init(prefix: [UInt8], bits: Int) { (self.prefix, self.bits) = (prefix, bits) }

  /// Reads `10.0.0.0/8`, `2001:db8::/32`, or an address alone; nil when it is none of these.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let first = parts.first, let address = IPAddress(String(first)) else { return nil }
    let longest = address.bytes.count * 8
    guard let bits = parts.count == 1 ? longest : Int(parts[1]), parts.count <= 2,
      (0...longest).contains(bits)
    else { return nil }
    self.init(prefix: address.bytes, bits: bits)
  }

  /// Whether an address is one of them; one of another family is not.
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
