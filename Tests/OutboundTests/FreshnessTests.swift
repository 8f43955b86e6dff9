import Outbound
import Testing

@Suite struct FreshnessTests {
  private func seconds(
    _ cacheControl: String?, expires: String? = nil, date: String? = nil, age: String? = nil
  ) -> Duration? {
    Freshness.lifetime(cacheControl: cacheControl, expires: expires, date: date, age: age)
  }

  @Test(arguments: [
    ("max-age=60", 60), ("public, Max-Age = \"60\"", 60), ("max-age=60, max-age=30", 30),
    ("no-store, max-age=60", 0), ("max-age=60, no-cache", 0), ("max-age=x", 0), ("max-age=-1", 0),
    ("max-age", 0), ("max-age=99999999999999999999999", 31_536_000), ("max-age=0", 0),
  ])
  func `Cache-Control determines the lifetime`(_ value: String, _ wanted: Int) {
    #expect(seconds(value) == .seconds(wanted))
  }

  @Test func `Expires is relative to Date, and max-age overrides it`() {
    let (date, later) = ("Fri, 21 Nov 2025 07:00:00 GMT", "Fri, 21 Nov 2025 07:10:00 GMT")
    #expect(seconds(nil, expires: later, date: date) == .seconds(600))
    #expect(seconds(nil, expires: date, date: later) == .zero)
    #expect(seconds("max-age=5", expires: later, date: date) == .seconds(5))
    #expect(seconds("private", expires: later, date: date, age: "100") == .seconds(500))
    #expect(seconds(nil, expires: "0", date: date) == .zero)
    #expect(seconds(nil, expires: later) == .zero)
    #expect(seconds(nil, expires: "Fri, 21 Nov 2098 07:10:00 GMT") == .seconds(31_536_000))
  }

  @Test func `a response without lifetime has none, and absurd ages are harmless`() {
    #expect(seconds(nil) == nil && seconds("public") == nil)
    #expect(seconds("max-age=60", age: "61") == .zero)
    #expect(seconds("max-age=60", age: "-9223372036854775808") == .seconds(60))
    #expect(
      seconds(nil, expires: "Thu, 01 Jan 1970 00:00:01 GMT", age: "9223372036854775807") == .zero
    )
  }
}

@Suite struct IPAddressTests {
  @Test(arguments: [
    "1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
    "128.0.0.0", "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.167.255.255",
    "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00::1", "2001:200::1",
    "2003::1", "::ffff:1.1.1.1", "64:ff9b::1.1.1.1", "3ffe:ffff::1",
  ])
  func `internet addresses are public`(_ text: String) {
    #expect(IPAddress(text)?.isPublic == true)
  }

  @Test(arguments: [
    "0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
    "127.0.0.1", "127.255.255.255", "169.254.169.254", "172.16.0.0", "172.31.255.255", "192.0.0.1",
    "192.0.2.1", "192.88.99.1", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255", "::",
    "::1", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::1",
    "100::1", "2001::1", "2001:db8::1", "2001:1ff::1", "2002:7f00:1::", "3fff::1", "fc00::1",
    "fd00::1", "fe80::1", "fec0::1", "ff02::1", "4000::1", "1fff::1",
  ])
  func `all other addresses are private`(_ text: String) {
    #expect(IPAddress(text)?.isPublic == false)
  }

  @Test(arguments: [
    ("192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1"),
    ("::FFFF:c000:201", "192.0.2.1"), ("0:0:0:0:0:ffff:c000:0201", "192.0.2.1"),
    ("::192.0.2.1", "::192.0.2.1"), ("::ffff:0:192.0.2.1", "::ffff:0:c000:201"),
    ("64:ff9b::192.0.2.1", "64:ff9b::c000:201"), ("2001:DB8:0:0:0:0:0:1", "2001:db8::1"),
  ])
  func `an address has one spelling, and a mapped address equals its IPv4 address`(
    _ text: String, _ one: String
  ) {
    #expect(IPAddress(text)?.description == one)
    #expect(IPAddress(text) == IPAddress(one))
  }

  @Test func `loopback is recognized in any spelling`() {
    let own = ["127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1"]
    let others = ["128.0.0.1", "::", "::2", "::127.0.0.1", "::ffff:126.0.0.1", "fe80::1"]
    #expect(own.allSatisfy { IPAddress($0)?.isLoopback == true })
    #expect(others.allSatisfy { IPAddress($0)?.isLoopback == false })
  }

  @Test func `a network is an IPv4 address or 64 bits of an IPv6 address`() {
    #expect(IPAddress("2001:db8::1")?.network == IPAddress("2001:db8::2:3:4:5")?.network)
    #expect(IPAddress("2001:db8::1")?.network != IPAddress("2001:db8:0:1::1")?.network)
    #expect(IPAddress("::ffff:192.0.2.1")?.network == IPAddress("192.0.2.1")?.network)
    #expect(IPAddress("192.0.2.1")?.network != IPAddress("192.0.2.2")?.network)
  }

  @Test(arguments: ["", "x", "1.2.3", "1.2.3.4.5", "::g"])
  func `a malformed address is refused`(_ text: String) {
    #expect(IPAddress(text) == nil)
  }
}
