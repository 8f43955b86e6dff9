import Outbound
import Testing

/// Settings with which no mail can be sent.
extension MailRelayTests {
  @Test func `without a destination mail is not configured`() async throws {
    #expect(await error(of: MailRelaySettings(), try message()) == .notConfigured)
  }

  @Test(arguments: [
    "", "relay.example.com", "http://relay.example.com", "smtp://", "smtp:///x", "smtp://:25",
    "smtp://ada:secret@relay.example.com", "smtp://relay.example.com/path", "smtp://a b",
    "smtp://relay.example.com?x", "smtp://relay.example.com#x", "smtp://relay\r\n.example.com",
    "smtp://relay%0d.example.com", "smtp://host:99999", "smtp://host:x", "smtp://[::1",
  ])
  func `an invalid relay URL is an error of the configuration`(_ url: String) async throws {
    let settings = MailRelaySettings(.relay(SMTPRelay(url: url)))
    let error = await error(of: settings, try message())
    #expect(isMisconfigured(error, "URL"))
  }

  @Test func `an incomplete login is an error of the configuration`()
    async throws
  {
    var relay = SMTPRelay(url: "smtp://relay.example.com:587")
    relay.user = "ada"
    #expect(
      isMisconfigured(await error(of: MailRelaySettings(.relay(relay)), try message()), "password")
    )
    relay.password = "x\0y"
    #expect(
      isMisconfigured(await error(of: MailRelaySettings(.relay(relay)), try message()), "NUL")
    )
  }

  @Test(arguments: [
    "", "a b", "a\r\nQUIT", "-a.example.com", "192.0.2.1", "[192.0.2]", "[a]", "[", "a/b",
  ])
  func `an invalid name for EHLO is an error of the configuration`(_ name: String) async throws {
    let relay = SMTPRelay(url: "smtp://relay.example.com", clientName: name)
    let error = await error(of: MailRelaySettings(.relay(relay)), try message())
    #expect(isMisconfigured(error, "EHLO"))
  }
}
