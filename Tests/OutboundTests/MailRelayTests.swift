import EventLoop
import FoundationEssentials
import Glibc
import Outbound
import TestSupport
import Testing

/// Tests mail delivery to a real SMTP server.
@Suite struct MailRelayTests {
  init() async throws {
    LoopThread.start()
    try await Workplace.haveCertificates()
  }

  /// The server's record of a message.
  private struct Received: Decodable {
    let path: String
    let from: String
    let to: [String]
    let name: String
    let tls: Bool
    let user: String
  }

  func message(_ subject: String = "Grüße 👋", html: String? = nil) throws -> MailMessage {
    try MailMessage(
      from: MailAddress("dossier@example.com", name: "Dossier & Söhne"),
      to: MailAddress("ada@example.com", name: "Ada, \"Countess\""),
      subject: subject,
      text: ".\n..\n.dot\nÄ " + String(repeating: "lange Zeile ", count: 200) + "\n.\nQUIT\n",
      html: html
    )
  }

  private func settings(
    _ server: TestServer, scheme: String = "smtp", host: String = "localhost",
    _ change: (inout SMTPRelay) -> Void = { _ in }
  ) -> MailRelaySettings {
    var relay = SMTPRelay(url: "\(scheme)://\(host):\(server.port)")
    change(&relay)
    var settings = MailRelaySettings(.relay(relay))
    settings.reach.authorities = Workplace.shared.authority
    // Only prevents a hang. Tests of time-outs set their own.
    settings.reach.connectTimeout = .seconds(300)
    settings.reach.timeout = .seconds(600)
    return settings
  }

  private func plain(_ server: TestServer) -> MailRelaySettings {
    settings(server) { $0.startTLS = .optional }
  }

  /// - Returns: the error, or nil if the message was sent.
  @EventLoop func error(
    of settings: MailRelaySettings, _ message: MailMessage
  ) async -> MailError? {
    do throws(MailError) {
      try await MailRelay(settings).send(message)
      return nil
    } catch {
      return error
    }
  }

  private func received(_ server: TestServer) throws -> [Received] {
    try server.lines.map { try JSONDecoder().decode(Received.self, from: Data($0.utf8)) }
  }

  func isMisconfigured(_ error: MailError?, _ part: String) -> Bool {
    if case .misconfigured(let reason)? = error { reason.contains(part) } else { false }
  }

  private func code(toTryAgain error: MailError?) -> Int? {
    if case .tryAgain(let code, _)? = error { code ?? 0 } else { nil }
  }

  // MARK: Delivery

  @Test func `a message arrives unchanged, over STARTTLS and with a password`() async throws {
    let message = try message(html: "<p>.\n.Ä</p>\n.")
    try await TestServer.run("smtp", ["starttls", "auth"]) { server in
      let settings = settings(server) {
        ($0.user, $0.password) = ("ada", "secret pass")
      }
      #expect(await error(of: settings, message) == nil)
      let one = try #require(try received(server).first)
      #expect(one.from == "dossier@example.com" && one.to == ["ada@example.com"])
      #expect(one.tls && one.user == "ada")
      #expect(try Array(Data(contentsOf: URL(filePath: one.path))) == message.composed())
      try await ParsedMessage.read([one.path]).first?.expectToBe(message)
    }
  }

  @Test func `lines with a leading dot arrive in unencoded text`() async throws {
    let message = try MailMessage(
      from: MailAddress("a@example.com"), to: MailAddress("b@example.com"), subject: "dots",
      text: ".\r\n..\n.x\n" + String(repeating: ".", count: 998) + "\n."
    )
    try await TestServer.run("smtp") { server in
      #expect(await error(of: plain(server), message) == nil)
      let one = try #require(try received(server).first)
      #expect(!one.tls)
      #expect(try Array(Data(contentsOf: URL(filePath: one.path))) == message.composed())
      let parsed = try await ParsedMessage.read([one.path])
      #expect(parsed.first?.encodings == ["7bit"])
      parsed.first?.expectToBe(message)
    }
  }

  @Test func `a megabyte arrives over implicit TLS`() async throws {
    let message = try MailMessage(
      from: MailAddress("a@example.com"), to: MailAddress("b@example.com"), subject: "large",
      text: String(repeating: ".line of text\n", count: 70_000)
    )
    try await TestServer.run("smtp", ["smtps"]) { server in
      #expect(await error(of: settings(server, scheme: "smtps"), message) == nil)
      let one = try #require(try received(server).first)
      #expect(try Array(Data(contentsOf: URL(filePath: one.path))) == message.composed())
    }
  }

  @Test func `optional STARTTLS is used if the server offers it`() async throws {
    let message = try message()
    try await TestServer.run("smtp", ["starttls"]) { server in
      #expect(await error(of: plain(server), message) == nil)
      let tls = try received(server).map(\.tls)
      #expect(tls == [true])
    }
  }

  // MARK: Refusals

  @Test func `a wrong or missing password is an error of the configuration`() async throws {
    let message = try message()
    try await TestServer.run("smtp", ["starttls", "auth"]) { server in
      let wrong = settings(server) { ($0.user, $0.password) = ("ada", "wrong") }
      #expect(isMisconfigured(await error(of: wrong, message), "535"))
      #expect(isMisconfigured(await error(of: settings(server), message), "530"))
      #expect(server.lines == [])
    }
    try await TestServer.run("smtp", ["starttls", "auth", "login", "454"]) { server in
      let right = settings(server) { ($0.user, $0.password) = ("ada", "secret pass") }
      #expect(code(toTryAgain: await error(of: right, message)) == 454)
    }
  }

  @Test(arguments: ["rcpt", "data"], [450, 550])
  func `5xx is a permanent error, and 4xx a temporary one`(_ stage: String, _ reply: Int)
    async throws
  {
    let message = try message()
    try await TestServer.run("smtp", [stage, "\(reply)"]) { server in
      let error = await error(of: plain(server), message)
      if reply == 550 {
        let rcpt = "5.1.1 <ada@example.com>: no such user"
        #expect(error == .refused(code: 550, reply: stage == "rcpt" ? rcpt : "not now"))
      } else {
        #expect(code(toTryAgain: error) == 450)
      }
      #expect(server.lines == [])
    }
  }

  @Test func `a refused connection is not a refused message`() async throws {
    let message = try message()
    try await TestServer.run("smtp", ["greet", "554"]) { server in
      #expect(isMisconfigured(await error(of: plain(server), message), "554 go away ??"))
    }
    try await TestServer.run("smtp", ["greet", "421"]) { server in
      #expect(code(toTryAgain: await error(of: plain(server), message)) == 421)
    }
  }

  @Test(arguments: ["hang", "slow"])
  func `a relay that hangs causes a timeout`(_ mode: String) async throws {
    let message = try message()
    try await TestServer.run("smtp", [mode]) { server in
      var settings = plain(server)
      settings.reach.timeout = .milliseconds(700)
      // The relay never ends by itself.
      #expect(code(toTryAgain: await error(of: settings, message)) == 0)
    }
  }

  @Test func `an unreachable relay is a temporary error`() async throws {
    let message = try message()
    let port = try await TestServer.run("smtp") { $0.port }
    let relay = MailRelaySettings(.relay(SMTPRelay(url: "smtp://127.0.0.1:\(port)")))
    #expect(code(toTryAgain: await error(of: relay, message)) == 0)
    let unknown = MailRelaySettings(.relay(SMTPRelay(url: "smtp://relay.invalid")))
    #expect(code(toTryAgain: await error(of: unknown, message)) == 0)
  }

  // MARK: TLS

  @Test func `nothing is sent if the required STARTTLS is missing`() async throws {
    let message = try message()
    try await TestServer.run("smtp") { server in
      let settings = settings(server) { ($0.user, $0.password) = ("ada", "secret pass") }
      #expect(isMisconfigured(await error(of: settings, message), "STARTTLS"))
      #expect(server.lines == [])
    }
  }

  @Test(arguments: ["starttls", "smtps"])
  func `a certificate of another host or authority is refused`(_ mode: String) async throws {
    let message = try message()
    let scheme = mode == "smtps" ? "smtps" : "smtp"
    // Optional TLS is for STARTTLS only.
    let tls = mode == "smtps" ? SMTPRelay.StartTLS.optional : .required
    try await TestServer.run("smtp", [mode, "other"]) { server in
      let settings = settings(server, scheme: scheme) { $0.startTLS = tls }
      #expect(isMisconfigured(await error(of: settings, message), "certificate"))
      #expect(server.lines == [])
    }
    try await TestServer.run("smtp", [mode]) { server in
      var settings = settings(server, scheme: scheme) { $0.startTLS = tls }
      settings.reach.authorities = nil
      #expect(isMisconfigured(await error(of: settings, message), "certificate"))
      settings.reach.authorities = "/nowhere.pem"
      #expect(isMisconfigured(await error(of: settings, message), "certificate"))
      #expect(server.lines == [])
    }
  }

  @Test func `optional STARTTLS takes any certificate, as a local relay has`() async throws {
    let message = try message()
    try await TestServer.run("smtp", ["starttls", "other"]) { server in
      var settings = plain(server)
      settings.reach.authorities = nil
      #expect(await error(of: settings, message) == nil)
      let tls = try received(server).map(\.tls)
      #expect(tls == [true])
    }
  }

  // MARK: The name in EHLO

  @Test(arguments: ["users.example.com", "[192.0.2.1]", "[IPv6:2001:db8::1]"])
  func `the relay gets the name of the settings`(_ name: String) async throws {
    let message = try message()
    try await TestServer.run("smtp") { server in
      let settings = settings(server) { ($0.startTLS, $0.clientName) = (.optional, name) }
      #expect(await error(of: settings, message) == nil)
      let names = try received(server).map(\.name)
      #expect(names == [name])
    }
  }

  @Test func `a refused name in EHLO is an error of the configuration`() async throws {
    let message = try message()
    try await TestServer.run("smtp", ["fqdn"]) { server in
      let bare = settings(server) { ($0.startTLS, $0.clientName) = (.optional, "users") }
      #expect(isMisconfigured(await error(of: bare, message), "504 5.5.2 <users>"))
      #expect(isMisconfigured(await check(bare, from: "a@example.com"), "504 5.5.2 <users>"))
      let name = "users.example.com"
      let full = settings(server) { ($0.startTLS, $0.clientName) = (.optional, name) }
      #expect(await error(of: full, message) == nil)
    }
  }

  // MARK: The check

  @EventLoop private func check(_ settings: MailRelaySettings, from sender: String?) async
    -> MailError?
  {
    do throws(MailError) {
      try await MailRelay(settings).check(from: sender)
      return nil
    } catch {
      return error
    }
  }

  @Test func `the check names the sender and the postmaster, and sends nothing`() async throws {
    try await TestServer.run("smtp", ["rcpt", "550"]) { server in
      let refused = "5.1.1 <postmaster@example.com>: no such user"
      let error = await check(plain(server), from: "a@example.com")
      #expect(error == .refused(code: 550, reply: refused))
      #expect(await check(plain(server), from: nil) == nil)
    }
    try await TestServer.run("smtp") { server in
      #expect(await check(plain(server), from: "a@example.com") == nil)
      #expect(server.lines == [])
    }
  }

  // MARK: Load

  @Test func `a relay that hangs delays no mail at another one`() async throws {
    let message = try message()
    try await TestServer.run("smtp", ["hang"]) { hanging in
      let tasks = (0..<50).map { _ in Task { await error(of: plain(hanging), message) } }
      try await TestServer.run("smtp") { server in
        #expect(await error(of: plain(server), message) == nil)
      }
      hanging.stop()
      for task in tasks { #expect(code(toTryAgain: await task.value) == 0) }
    }
  }

  @Test func `no mail waits for the reply to QUIT`() async throws {
    let message = try message()
    try await TestServer.run("smtp", ["mute"]) { server in
      for _ in 0..<3 { #expect(await error(of: plain(server), message) == nil) }
      let count = try received(server).count
      #expect(count == 3)
    }
    try await TestServer.run("smtp", ["mute", "rcpt", "550"]) { server in
      for _ in 0..<3 { #expect(await error(of: plain(server), message) != nil) }
    }
  }

  @Test(arguments: ["endless", "torn", "babble"])
  func `a reply that breaks the protocol is a temporary error`(_ mode: String) async throws {
    let message = try message()
    try await TestServer.run("smtp", ["reply", mode]) { server in
      #expect(code(toTryAgain: await error(of: plain(server), message)) == 0)
    }
  }
}
