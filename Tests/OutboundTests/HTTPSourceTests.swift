import EventLoop
import Glibc
import Outbound
import TestSupport
import Testing

/// Tests requests to a real web server.
@Suite struct HTTPSourceTests {
  init() async throws {
    LoopThread.start()
    try await Workplace.haveCertificates()
  }

  /// Settings for servers on this machine with certificates of the test authority.
  private var local: HTTPSourceSettings {
    var settings = HTTPSourceSettings()
    settings.allowsPrivateAddresses = true
    settings.reach.authorities = Workplace.shared.authority
    // Only prevents a hang. Tests of time-outs set their own.
    settings.reach.connectTimeout = .seconds(300)
    settings.reach.timeout = .seconds(600)
    return settings
  }

  @EventLoop private func fetch(
    _ url: String, _ settings: HTTPSourceSettings
  ) async -> Result<HTTPAnswer, FetchError> {
    do throws(FetchError) {
      let owner = CallOwner(app: "a", receiver: "b")
      return .success(try await HTTPSource(settings).fetch(url, for: owner))
    } catch {
      return .failure(error)
    }
  }

  @EventLoop private func send(
    _ call: HTTPCall, _ settings: HTTPSourceSettings
  ) async throws(FetchError) -> HTTPAnswer {
    try await HTTPSource(settings).send(call, for: CallOwner(app: "a", receiver: "b"))
  }

  private func error(_ url: String, _ settings: HTTPSourceSettings) async -> FetchError? {
    if case .failure(let error) = await fetch(url, settings) { error } else { nil }
  }

  @Test func `a document has its body and lifetime`() async throws {
    try await TestServer.run("web") { server in
      for host in ["localhost", "127.0.0.1"] {
        let document = try await fetch("https://\(host):\(server.port)/keys", local).get()
        #expect(String(decoding: document.body, as: UTF8.self) == "{\"keys\":[]}")
        #expect(document.lifetime == .seconds(540))
      }
      let plain = try await fetch("https://localhost:\(server.port)/plain", local).get()
      #expect(plain.lifetime == nil)
    }
  }

  @Test func `redirects and failures are errors`() async throws {
    try await TestServer.run("web") { server in
      let base = "https://localhost:\(server.port)"
      #expect(await error("\(base)/status/404", local) == .status(404))
      #expect(await error("\(base)/status/503", local) == .status(503))
      #expect(await error("\(base)/redirect", local) == .redirected(to: "/keys"))
      #expect(server.lines.filter { $0.hasPrefix("request /keys") } == [])
    }
  }

  @Test(arguments: [200, 302, 400, 503])
  func `an answer of any status has its body`(_ status: Int) async throws {
    try await TestServer.run("web") { server in
      let path = status == 302 ? "redirect" : "status/\(status)"
      var call = HTTPCall("https://localhost:\(server.port)/\(path)", form: "a=b")
      call.authorize(byBearer: "secret")
      let answer = try await send(call, local)
      #expect(answer.status == status && answer.contentType == "application/json")
      #expect(answer.body == (status == 302 ? [] : Array("{\"keys\":[]}".utf8)))
      #expect(server.lines == ["connection", "request /\(path) Bearer secret"])
    }
  }

  @Test func `a call sends its form and its header fields`() async throws {
    try await TestServer.run("web") { server in
      var call = HTTPCall("https://localhost:\(server.port)/echo", form: "a=b&c=%20d")
      call.accept = "application/vnd.github+json"
      call.fields = [("X-Version", "2022-11-28; a")]
      let sent = String(decoding: try await send(call, local).body, as: UTF8.self)
      for line in [
        "POST", "Accept: application/vnd.github+json", "X-Version: 2022-11-28; a",
        "Content-Type: application/x-www-form-urlencoded", "a=b&c=%20d",
      ] {
        #expect(sent.split(separator: "\n").contains { $0 == line }, "\(line) in \(sent)")
      }
      let got = try await send(HTTPCall("https://localhost:\(server.port)/echo"), local)
      #expect(String(decoding: got.body, as: UTF8.self).hasPrefix("GET\n"))
    }
  }

  @Test(arguments: [
    "", "a\r\nX: y", "a\nb", "a\rb", "a\0b", "a\tb", "\u{e9}", "\u{7f}",
    String(repeating: "x", count: 16_385),
  ])
  func `a header field with other characters is refused before a connection`(
    _ value: String
  ) async throws {
    try await TestServer.run("web") { server in
      var calls: [(String, HTTPCall)] = []
      for name in ["Authorization", "Accept", value] {
        var call = HTTPCall("https://localhost:\(server.port)/keys")
        switch name {
        case "Accept": call.accept = value
        case value: call.fields = [(value + ":", "a")]
        default: call.fields = [(name, value)]
        }
        calls.append((name == value ? value + ":" : name, call))
      }
      for (name, call) in calls {
        await #expect(throws: FetchError.invalidField(name)) { try await send(call, local) }
      }
      let form = HTTPCall("https://localhost:\(server.port)/keys", form: "a=\u{0}b")
      await #expect(throws: FetchError.invalidForm) { try await send(form, local) }
      #expect(server.lines == [])
    }
  }

  @Test func `a body at the limit is accepted, and a larger one is not`() async throws {
    try await TestServer.run("web") { server in
      let base = "https://localhost:\(server.port)"
      var settings = local
      settings.limit = 100_000
      for path in ["bytes", "endless"] {
        let document = try await fetch("\(base)/\(path)/100000", settings).get()
        #expect(document.body.count == 100_000)
        let error = await error("\(base)/\(path)/100001", settings)
        #expect(error == .tooLarge(limit: 100_000))
      }
      #expect(await error("\(base)/endless/50000000", settings) == .tooLarge(limit: 100_000))
    }
  }

  @Test(arguments: ["hang", "drip"])
  func `a server that hangs or sends slowly causes a timeout`(_ path: String) async throws {
    try await TestServer.run("web") { server in
      var settings = local
      settings.reach.timeout = .milliseconds(700)
      // The response never ends by itself.
      #expect(await error("https://localhost:\(server.port)/\(path)", settings) == .timedOut)
    }
  }

  @Test func `a certificate of another host or authority is refused`() async throws {
    func isUntrusted(_ error: FetchError?) -> Bool {
      if case .untrusted? = error { true } else { false }
    }
    try await TestServer.run("web", ["other"]) { server in
      #expect(isUntrusted(await error("https://localhost:\(server.port)/keys", local)))
      #expect(server.lines.filter { $0.hasPrefix("request") } == [])
    }
    try await TestServer.run("web") { server in
      var settings = local
      settings.reach.authorities = nil
      #expect(isUntrusted(await error("https://localhost:\(server.port)/keys", settings)))
    }
  }

  @Test func `the trusted authorities are read once, since that takes long`() async throws {
    try await TestServer.run("web") { server in
      var settings = local
      let copy = "\(server.folder)/authority.pem"
      let link = symlink(Workplace.shared.authority, copy)
      #expect(link == 0)
      settings.reach.authorities = copy
      let calls = await Calls(settings)
      for count in 1...2 {
        await calls.begin("https://localhost:\(server.port)/keys", of: "a")
        await calls.wait(for: count)
        unlink(copy)
      }
      #expect(await calls.errors == [nil, nil])
    }
  }

  @Test func `private addresses are refused before a connection`() async throws {
    try await TestServer.run("web") { server in
      var settings = local
      settings.allowsPrivateAddresses = false
      for host in [
        "localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0",
        "[::ffff:127.0.0.1]", "[::1]", "[::]", "10.0.0.1", "169.254.169.254",
      ] {
        let error = await error("https://\(host):\(server.port)/keys", settings)
        #expect(error == .privateAddress, "\(host)")
      }
      #expect(server.lines == [])
    }
  }

  @Test func `plain HTTP requires the setting that allows it`() async throws {
    try await TestServer.run("web", ["plain"]) { server in
      var settings = local
      let url = "http://localhost:\(server.port)/keys"
      guard case .invalidURL? = await error(url, settings) else {
        Issue.record("plain HTTP was allowed")
        return
      }
      #expect(server.lines == [])
      settings.allowsPlainHTTP = true
      _ = try await fetch(url, settings).get()
    }
  }

  @Test(arguments: [
    "", "x", "file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1/", "https://",
    "https://ada:secret@localhost/", "https://ada@localhost/", "https://local host/",
    "https://a\0b/",
    "https://localhost/\r\nX: y", "https://bücher.example/", "https://localhost:99999/",
    "smtp://x/",
    "https://example.com/" + String(repeating: "x", count: 2_048),
  ])
  func `a URL that is not a web address is refused`(_ url: String) async throws {
    guard case .invalidURL? = await error(url, local) else {
      Issue.record("\(url) was accepted")
      return
    }
  }

  @Test func `a closed port and an unknown host are unreachable`() async throws {
    func isUnreachable(_ error: FetchError?) -> Bool {
      if case .unreachable? = error { true } else { false }
    }
    let port = try await TestServer.run("web") { $0.port }
    #expect(isUnreachable(await error("https://127.0.0.1:\(port)/", local)))
    #expect(isUnreachable(await error("https://nowhere.invalid/", local)))
  }

  @Test func `neither the environment's proxy nor a netrc is used`() async throws {
    // Runs in a separate process, since other tests must keep their environment.
    await #expect(processExitsWith: .success) { try await Self.fetchWithProxyAndNetrc() }
  }

  private static func fetchWithProxyAndNetrc() async throws {
    let tests = try await HTTPSourceTests()
    let home = try Workplace.shared.makeFolder()
    let netrc = "machine localhost login ada password secret\n"
    #expect(tests.write(netrc, to: "\(home)/.netrc"))
    let settings = [
      "https_proxy": "http://127.0.0.1:1", "ALL_PROXY": "http://127.0.0.1:1", "HOME": home,
    ]
    for (name, value) in settings { setenv(name, value, 1) }
    try await TestServer.run("web") { server in
      let url = "https://localhost:\(server.port)/keys"
      _ = try await tests.fetch(url, tests.local).get()
      #expect(server.lines == ["connection", "request /keys None"])
    }
  }

  private func write(_ text: String, to path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    fputs(text, file)
    return fclose(file) == 0
  }

  // MARK: Load

  @Test func `a request without a place is refused at once`() async throws {
    try await TestServer.run("web") { server in
      var settings = local
      (settings.most, settings.waiting) = (2, 2)
      let calls = await Calls(settings)
      for _ in 0..<5 { await calls.begin("https://localhost:\(server.port)/hang", of: "a") }
      // Half of the places and of the room is for others.
      await calls.wait(for: 3)
      #expect(await calls.errors == [.overloaded, .overloaded, .overloaded])
      server.stop()
      await calls.wait(for: 5)
      #expect(!(await calls.errors[3...].contains { $0 == nil || $0 == .overloaded }))
    }
  }

  @Test func `receivers that hang delay no request to another, nor one of another app`()
    async throws
  {
    try await TestServer.run("web") { server in
      let base = "https://localhost:\(server.port)"
      let calls = await Calls(local)
      for index in 0..<50 {
        await calls.begin("\(base)/\(index % 2 == 0 ? "hang" : "drip")", of: "a", to: "\(index)")
      }
      await calls.begin("\(base)/keys", of: "a", to: "healthy")
      await calls.wait(for: 1)
      // More than one app may have at once.
      for index in 50..<100 { await calls.begin("\(base)/hang", of: "a", to: "\(index)") }
      await calls.begin("\(base)/keys", of: "b")
      await calls.wait(for: 2)
      #expect(await calls.errors == [nil, nil])
      server.stop()
      // libcurl must not run while the process of the tests exits.
      await calls.wait(for: 102)
    }
  }

  @Test func `a kept connection is used again, and a closed one is replaced`() async throws {
    try await TestServer.run("web", ["kept"]) { server in
      let calls = await Calls(local)
      for count in 1...3 {
        await calls.begin("https://localhost:\(server.port)/keys", of: "a")
        await calls.wait(for: count)
      }
      #expect(server.lines.filter { $0 == "connection" }.count == 1)
      await calls.begin("https://localhost:\(server.port)/close", of: "a")
      await calls.wait(for: 4)
      await calls.begin("https://localhost:\(server.port)/keys", of: "a")
      await calls.wait(for: 5)
      #expect(await calls.errors == [nil, nil, nil, nil, nil])
      #expect(server.lines.filter { $0 == "connection" }.count == 2)
    }
  }

  @Test func `of the response to a form only the status counts`() async throws {
    try await TestServer.run("web") { server in
      var settings = local
      settings.limit = 10
      let source = await HTTPSource(settings)
      let owner = await CallOwner(app: "a", receiver: "b")
      let base = "https://localhost:\(server.port)"
      try await source.post("a=b", to: "\(base)/bytes/100", for: owner)
      try await source.post("a=b", to: "\(base)/endless/100000", for: owner)
      await #expect(throws: FetchError.status(500)) {
        try await source.post("a=b", to: "\(base)/status/500", for: owner)
      }
    }
  }

  /// Requests at once, and how they end, in that order.
  @EventLoop private final class Calls {
    private let source: HTTPSource
    private(set) var errors: [FetchError?] = []

    init(_ settings: HTTPSourceSettings) { source = HTTPSource(settings) }

    func begin(_ url: String, of app: String, to receiver: String = "one") {
      EventLoop.task { [self] in
        do throws(FetchError) {
          _ = try await source.fetch(url, for: CallOwner(app: app, receiver: receiver))
          errors.append(nil)
        } catch {
          errors.append(error)
        }
      }
    }

    func wait(for count: Int) async {
      while errors.count < count { await EventLoop.sleep(for: .milliseconds(1)) }
    }
  }
}
