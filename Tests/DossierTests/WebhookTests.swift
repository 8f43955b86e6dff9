import Crypto
import Encoding
import Outbound
import Runtime
import Testing

@testable import Webhooks

/// Tests the schedule of attempts, the signatures and the URLs of webhooks.
@Suite struct WebhookTests {
  // MARK: Schedule

  @Test(arguments: [0.0, 1.0])
  func `a delivery has ten attempts within 76 hours, or a quarter more`(jitter: Double) {
    var (clock, attempts) = (Duration.zero, [Duration]())
    while true {
      attempts.append(clock)
      guard let pause = WebhookSchedule.pause(after: attempts.count, jitter: jitter) else { break }
      clock += pause
    }
    let hours = [0, 0, 0, 0, 2, 5, 10, 14, 20, 24].map { Duration.seconds($0 * 3_600) }
    let short = [0, 5, 300, 1_800, 0, 0, 0, 0, 0, 0].map(Duration.seconds)
    var expected: [Duration] = []
    for (hour, second) in zip(hours, short) {
      expected.append((expected.last ?? .zero) + (hour + second) * (1 + jitter / 4))
    }
    #expect(attempts.count == expected.count)
    for (one, other) in zip(attempts, expected) {
      #expect(max(one, other) - min(one, other) < .milliseconds(1))
    }
    #expect(jitter > 0 || clock == .seconds(75 * 3_600 + 35 * 60 + 5))
  }

  @Test func `a receiver can ask for a longer pause, and not for a shorter one`() {
    let long = WebhookSchedule.pause(after: 1, retryAfter: .seconds(600), jitter: 0)
    #expect(long == .seconds(600))
    let short = WebhookSchedule.pause(after: 2, retryAfter: .seconds(1), jitter: 0)
    #expect(short == .seconds(300))
    #expect(WebhookSchedule.pause(after: 10, retryAfter: .seconds(600)) == nil)
  }

  @Test(
    arguments: [
      (200, .delivered), (204, .delivered), (301, .failed(pause: nil)), (410, .gone),
      (429, .failed(pause: .seconds(5))), (502, .failed(pause: .seconds(5))),
      (504, .failed(pause: .seconds(5))), (500, .failed(pause: nil)), (100, .failed(pause: nil)),
    ] as [(Int, WebhookSchedule.Outcome)])
  func `a status has an outcome`(status: Int, outcome: WebhookSchedule.Outcome) {
    #expect(WebhookSchedule.outcome(status: status, retryAfter: nil) == outcome)
  }

  @Test(
    arguments: [
      ("120", nil, 120), ("0", nil, 0), ("99999999999999999999", nil, 86_400),
      ("Sat, 31 Jan 2026 12:00:30 GMT", "Sat, 31 Jan 2026 12:00:00 GMT", 30),
      ("Sat, 31 Jan 2026 11:00:30 GMT", "Sat, 31 Jan 2026 12:00:00 GMT", 0),
    ] as [(String, String?, Int)])
  func `Retry-After is a number or a date`(value: String, date: String?, seconds: Int) {
    #expect(Freshness.pause(value, date: date) == .seconds(seconds))
  }

  @Test(arguments: ["", "-1", "1.5", "soon"])
  func `other values of Retry-After count for nothing`(value: String) {
    #expect(Freshness.pause(value, date: nil) == nil)
  }

  @Test func `a failing webhook is tried ever more rarely, and disabled after five days`() {
    let pauses = [20, 21, 22, 23, 40].map(WebhookSchedule.probePause)
    #expect(pauses == [5, 300, 1_800, 7_200, 7_200].map(Duration.seconds))
    let start = Timestamp(microseconds: 1_000_000_000_000)
    let (before, after) = (start.later(by: .seconds(432_000)), start.later(by: .seconds(432_001)))
    #expect(!WebhookSchedule.isOver(failures: 25, since: start, at: before))
    #expect(WebhookSchedule.isOver(failures: 25, since: start, at: after))
    #expect(!WebhookSchedule.isOver(failures: 19, since: start, at: after))
  }

  // MARK: Keys

  private func signatures(_ keys: WebhookKeys, at second: Int) -> [Substring] {
    let fields = keys.fields(for: Array("{}".utf8), id: "evt_1", at: second)
    #expect(fields.map(\.name) == ["webhook-id", "webhook-timestamp", "webhook-signature"])
    #expect(fields[0].value == "evt_1" && fields[1].value == String(second))
    return fields[2].value.split(separator: " ")
  }

  @Test func `a signature is that of the specification`() throws {
    let stored = """
      {"kind":"hmac","keys":[{"key":"\(Array("0123456789abcdef0123456789abcdef".utf8).paddedBase64)"}]}
      """
    let keys = try #require(WebhookKeys(stored: Array(stored.utf8)))
    let code = HMAC<SHA256>.authenticationCode(
      for: Array("evt_1.1700000000.{}".utf8),
      using: SymmetricKey(data: Array("0123456789abcdef0123456789abcdef".utf8)))
    #expect(signatures(keys, at: 1_700_000_000) == ["v1,\(Array(code).paddedBase64)"])
    #expect(keys.shown == "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=")
  }

  @Test(arguments: WebhookKeys.Kind.allCases)
  func `the key before signs for a day after a rotation`(kind: WebhookKeys.Kind) throws {
    var keys = WebhookKeys(kind)
    let first = keys.shown
    #expect(signatures(keys, at: 1_000).count == 1)
    keys.rotate(at: 1_000)
    #expect(keys.shown != first)
    #expect(signatures(keys, at: 1_001).count == 2)
    #expect(signatures(keys, at: 87_399).count == 2)
    #expect(signatures(keys, at: 87_400).count == 1)
    #expect(WebhookKeys(stored: keys.stored) == keys)
    for _ in 0..<9 { keys.rotate(at: 2_000) }
    #expect(signatures(keys, at: 2_001).count == 5)
    keys.rotate(at: 200_000)
    #expect(signatures(keys, at: 200_001).count == 2)
  }

  @Test func `a pair of keys verifies`() throws {
    let keys = WebhookKeys(.ed25519)
    let text = try #require(signatures(keys, at: 7).first)
    #expect(text.hasPrefix("v1a,"))
    let raw = try #require([UInt8](paddedBase64: String(keys.shown.dropFirst(5))))
    let signature = try #require([UInt8](paddedBase64: String(text.dropFirst(4))))
    let key = try Curve25519.Signing.PublicKey(rawRepresentation: raw)
    #expect(key.isValidSignature(signature, for: Array("evt_1.7.{}".utf8)))
  }

  @Test(arguments: [
    "", "{}", #"{"kind":"hmac","keys":[]}"#, #"{"kind":"x","keys":[{"key":"AAAA"}]}"#,
    #"{"kind":"hmac","keys":[{"key":"AAAA"}]}"#,
  ])
  func `other stored forms are refused`(text: String) {
    #expect(WebhookKeys(stored: Array(text.utf8)) == nil)
  }

  // MARK: URLs

  @Test(arguments: [
    ("https://example.com", "example.com", 443), ("https://example.com?a", "example.com", 443),
    ("https://Example.com:8443/a@b:c", "Example.com", 8_443),
    ("https://192.0.2.1:1024/", "192.0.2.1", 1_024), ("https://[2001:db8::1]", "2001:db8::1", 443),
  ])
  func `a URL has a host and a port`(text: String, host: String, port: Int) throws {
    let url = try ReceiverURL(text)
    #expect(url.host == host && url.port == port)
  }

  @Test(arguments: [
    "http://example.com", "https://", "https://:443", "https://a@b", "https://1", "https://0x1",
    "https://127.1", "https://a.0x7f", "https://[::1", "https://[1.2.3.4]", "https://[::1]x",
    "https://example.com:443x", "https://example.com:1023", "https://example.com:0443",
    "https://example.com:65536",
    "https://a..b", "https://a.", "https://localhost", "https://x.LOCALHOST", "https://a%2eb",
    "https://a\\b", "https://a#b", "https://a b",
  ])
  func `other URLs are refused`(text: String) {
    #expect(throws: ReceiverURLError.self) { try ReceiverURL(text) }
  }

  @Test(arguments: [
    ("10.1.2.3", true), ("8.8.8.8", true), ("fd00::1", true), ("127.0.0.1", false), ("::1", false),
    ("::ffff:127.0.0.1", false), ("0.0.0.0", false), ("169.254.169.254", false),
    ("fe80::1", false), ("::", false), ("::7f00:1", false), ("64:ff9b::7f00:1", false),
    ("64:ff9b::a9fe:a9fe", false), ("224.0.0.1", false), ("255.255.255.255", false),
    ("ff02::1", false),
  ])
  func `listed networks never allow this machine or link-local addresses`(
    text: String, isAllowed: Bool
  ) throws {
    var settings = HTTPSourceSettings()
    settings.allowedNetworks = ["0.0.0.0/0", "::/0"].compactMap { IPNetwork($0) }
    let address = try #require(IPAddress(text))
    #expect(settings.allows(address) == isAllowed)
    #expect(HTTPSourceSettings().allows(address) == address.isPublic)
  }
}
