import EventLoop
import Glibc
import Postgres
import TestSupport
import Testing

/// Tests connection strings with several hosts.
@Suite struct ConnectionHostsTests {
  init() { LoopThread.start() }

  @Test func `a host that does not answer is skipped`() async throws {
    let folder = "/tmp/dossier-silent-\(getpid())-\(UInt32.random(in: 0...0xffff))"
    let silent = try #require(listen(in: folder))
    defer {
      close(silent)
      unlink("\(folder)/.s.PGSQL.5432")
      rmdir(folder)
    }
    let database = try await TestCluster.shared.createDatabase()
    let hosts = database.replacing("host=", with: "host=\(folder),")
    // The silent host takes half of the time.
    #expect(try await answer(of: hosts, within: .seconds(90)) == "1")
  }

  @Test func `the error contains the response of each host`() async throws {
    await #expect {
      try await answer(of: "host=/nowhere,/elsewhere dbname=postgres")
    } throws: {
      "\($0)".contains("/nowhere") && "\($0)".contains("/elsewhere")
    }
  }

  @Test func `ports belong to hosts, in keywords and in URLs`() async throws {
    let database = try await TestCluster.shared.createDatabase()
    let socket = try #require(database.split(separator: " ").first?.split(separator: "=").last)
    let name = try #require(database.split(separator: "=").last)
    let path = socket.replacing("/", with: "%2F")
    for hosts in [
      "host=/nowhere,\(socket) port=1,5432 user=postgres dbname=\(name)",
      "host=/nowhere,\(socket) port=5432 user=postgres dbname=\(name)",
      "postgresql://postgres@%2Fnowhere:1,\(path):5432/\(name)",
    ] {
      #expect(try await answer(of: hosts) == "1", "\(hosts)")
    }
  }

  @EventLoop private func answer(
    of conninfo: String, within timeout: Duration = .seconds(600)
  ) async throws -> String? {
    let connection = try await Connection.open(
      ConnectionSettings(conninfo, applicationName: "hosts", timeout: timeout)
    )
    defer { connection.close() }
    return try await connection.query("select 1").rows[0][0]
  }

  /// Returns a socket that never answers, at the path of PostgreSQL's socket in the folder.
  private func listen(in folder: String) -> Int32? {
    guard mkdir(folder, 0o700) == 0 else { return nil }
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    let address = SocketAddress(path: "\(folder)/.s.PGSQL.5432")
    let bound = address?.with { bind(descriptor, $0, $1) }
    guard bound == 0, Glibc.listen(descriptor, 8) == 0 else { return nil }
    return descriptor
  }
}
