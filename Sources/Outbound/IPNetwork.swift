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
