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

  private static let pool = BlockingPool(name: "outbound", threads: 4, waiting: 1_000)

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
    _ url: String,
    _ settings: HTTPSourceSettings
  ) async -> Result<HTTPDocument, FetchError> {
    do throws(FetchError) {
      return .success(try await HTTPSource(pool: Self.pool, settings: settings).fetch(url))
    } catch {
      return .failure(error)
    }
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
    #expect(isUnreachable(await error("https://nowhere.invalid/", HTTPSourceSettings())))
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

  @Test func `a full pool is reported at once`() async throws {
    try await TestServer.run("web") { server in
      let errors = await flood("https://localhost:\(server.port)/hang", server)
      #expect(errors[..<2] == [.overloaded, .overloaded])
      #expect(errors.count == 4 && !errors[2...].contains { $0 == nil || $0 == .overloaded })
    }
  }

  /// Returns the results of four calls to a server that hangs.
  ///
  /// Two of them end before the server.
  @EventLoop private func flood(_ url: String, _ server: TestServer) async -> [FetchError?] {
    let source = HTTPSource(
      pool: BlockingPool(name: "outbound", threads: 1, waiting: 1),
      settings: local
    )
    var errors: [FetchError?] = []
    let tasks = (0..<4).map { _ in
      EventLoop.task {
        do throws(FetchError) {
          _ = try await source.fetch(url)
          errors.append(nil)
        } catch {
          errors.append(error)
        }
      }
    }
    while errors.count < 2 { await EventLoop.sleep(for: .milliseconds(1)) }
    server.stop()
    for task in tasks { await task.value }
    return errors
  }
}
