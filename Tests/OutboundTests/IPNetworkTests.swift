import Outbound
import Testing

@Suite struct IPNetworkTests {
  @Test(arguments: [
    ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.1", false),
    ("10.0.0.0/8", "::ffff:10.1.1.1", true), ("192.0.2.7", "192.0.2.7", true),
    ("192.0.2.7", "192.0.2.6", false), ("192.0.2.128/25", "192.0.2.200", true),
    ("192.0.2.128/25", "192.0.2.100", false), ("0.0.0.0/0", "203.0.113.9", true),
    ("0.0.0.0/0", "2001:db8::1", false), ("2001:db8::/33", "2001:db8:7fff::1", true),
    ("2001:db8::/33", "2001:db8:8000::1", false), ("::/0", "2001:db8::1", true),
  ])
  func `a network contains the addresses with its prefix`(
    network: String, address: String, isIn: Bool
  ) throws {
    let network = try #require(IPNetwork(network))
    let address = try #require(IPAddress(address))
    #expect(network.contains(address) == isIn)
  }

  @Test(arguments: [
    "", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "10/8", "a/8", "::/1/2",
  ])
  func `a malformed network is refused`(text: String) {
    #expect(IPNetwork(text) == nil)
  }
}
