import FoundationEssentials
import Glibc
import Synchronization

/// A private PostgreSQL of the test process.
///
/// It lives in a folder of its own, listens only on a Unix socket, does not sync its files, and ends
/// with the process. Without an installed PostgreSQL, `createDatabase` throws and the test fails.
package final class TestCluster: Sendable {
  /// The cluster, started at the first use.
  package static let shared = TestCluster()

  private let folder = TestCluster.newFolder()
  private let failure: TestClusterError?
  private let lastDatabase = Atomic<Int>(0)

  private init() {
    TestCluster.removeStale()
    do throws(TestClusterError) {
      try TestCluster.makeFolder(folder)
      try TestCluster.start("data", in: folder)
      failure = nil
    } catch {
      failure = error
    }
  }

  /// Creates a database.
  ///
  /// - Parameter template: the connection string of a database to copy, without connections, or nil
  ///   for an empty database.
  /// - Returns: the connection string.
  /// - Throws: `TestClusterError`, also if the cluster could not be started.
  package func createDatabase(template: String? = nil) async throws -> String {
    if let failure { throw failure }
    let name = "test_\(lastDatabase.add(1, ordering: .relaxed).newValue)"
    var words = ["--host=\(folder)", "--username=postgres"]
    if let name = template?.split(separator: "dbname=").last { words.append("--template=\(name)") }
    let child = try TestProgram(TestCluster.tool("createdb"), words + [name])
    let status = await child.end()
    guard status == 0 else { throw TestClusterError(reason: "createdb: \(child.errors)") }
    return "host=\(folder) user=postgres dbname=\(name)"
  }

  /// Creates a database with all migrations.
  ///
  /// - Returns: the connection string.
  /// - Throws: `TestClusterError`, also if a migration fails.
  package func createMigratedDatabase() async throws -> String {
    try await createDatabase(template: TestCluster.migrated.value.get())
  }

  /// The migrated database, created once and copied.
  private static let migrated = Task {
    () async -> Result<String, TestClusterError> in
    do {
      let database = try await shared.createDatabase()
      let program = try TestProgram(
        tool("psql"), ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", try Migrations.up()]
      )
      guard await program.end() == 0 else {
        return .failure(TestClusterError(reason: "migrations: \(program.errors)"))
      }
      return .success(database)
    } catch {
      return .failure(TestClusterError(reason: "\(error)"))
    }
  }

  /// Returns the path of a program of the newest installed PostgreSQL.
  ///
  /// `DOSSIER_TEST_POSTGRESQL` names the folder of another one.
  /// - Throws: `TestClusterError` if PostgreSQL is missing.
  package static func tool(_ name: String) throws(TestClusterError) -> String {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    let environment = ProcessInfo.processInfo.environment
    let folders =
      (environment["DOSSIER_TEST_POSTGRESQL"].map { [$0] } ?? [])
      + versions.sorted { (Int($0) ?? 0) > (Int($1) ?? 0) }.map { "\(root)/\($0)/bin" }
      + (environment["PATH"] ?? "").split(separator: ":").map(String.init)
    guard let folder = folders.first(where: { access("\($0)/\(name)", X_OK) == 0 }) else {
      throw TestClusterError(reason: "PostgreSQL is not installed: there is no \(name)")
    }
    return "\(folder)/\(name)"
  }

  // MARK: Starting and ending

  /// The folder of all clusters, in memory if there is room: files are made many times as fast
  /// there.
  private static let place: String = {
    var memory = statvfs()
    guard statvfs("/dev/shm", &memory) == 0 else { return "/tmp" }
    return memory.f_bavail > (4 << 30) / memory.f_frsize ? "/dev/shm" : "/tmp"
  }()

  /// Returns the name of a new folder, which a later process removes if this one is killed.
  static func newFolder() -> String {
    "\(place)/dossier-test-\(getpid())-\(UInt32.random(in: 0...0xffff))"
  }

  /// Creates a folder of the user of PostgreSQL.
  static func makeFolder(_ folder: String) throws(TestClusterError) {
    guard mkdir(folder, 0o700) == 0 else { throw TestClusterError(reason: "no folder \(folder)") }
    if getuid() == 0 {
      guard let user = getpwnam("postgres"),
        chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) == 0
      else { throw TestClusterError(reason: "there is no user postgres") }
    }
  }

  /// Starts a server, with its data and its socket in a folder.
  static func start(
    _ name: String, in folder: String, port: Int = 5432, _ more: [String] = []
  ) throws(TestClusterError) {
    let owner = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
    let data = "\(folder)/\(name)"
    let setpriv = "/usr/bin/setpriv"
    let initdb = try TestProgram(
      setpriv,
      owner + [
        tool("initdb"), "--pgdata=\(data)", "--auth=trust", "--username=postgres",
        "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
      ]
    )
    guard initdb.endNow() == 0 else { throw TestClusterError(reason: "initdb: \(initdb.errors)") }
    let settings = [
      "listen_addresses=", "unix_socket_directories=\(folder)", "fsync=off",
      "synchronous_commit=off", "full_page_writes=off", "max_connections=1000",
      "autovacuum=off", "shared_buffers=64MB", "port=\(port)",
      // A busy machine may take minutes for the start of a connection.
      "authentication_timeout=600",
    ]
    let postgres = try tool("postgres")
    // The kernel sends the signal when the starting thread ends. This thread never ends.
    let server = try onLastingThread { () throws(TestClusterError) in
      try TestProgram(
        setpriv,
        ["--pdeathsig", "INT"] + owner + [postgres, "-D", data]
          + (settings + more).flatMap { ["-c", $0] }
      )
    }
    let isFirst = servers.withLock { servers in
      servers.append(server.process)
      return servers.count == 1
    }
    if isFirst { atexit { TestCluster.endServers() } }
    let ready = try tool("pg_isready")
    for _ in 0..<6_000 {
      let words = ["--host=\(folder)", "--port=\(port)", "--quiet"]
      if try TestProgram(ready, words).endNow() == 0 { return }
      if server.hasEnded { break }
      usleep(50_000)
    }
    throw TestClusterError(reason: "postgres did not start: \(server.errors)")
  }

  private static let servers = Mutex<[pid_t]>([])

  private static func endServers() {
    let servers = servers.withLock(\.self)
    for server in servers { kill(server, SIGQUIT) }
    var status: Int32 = 0
    for server in servers {
      for _ in 0..<200 where waitpid(server, &status, WNOHANG) == 0 { usleep(10_000) }
    }
    removeFolders { $0 == getpid() }
  }

  /// Removes the clusters of killed test processes.
  private static func removeStale() {
    removeFolders { kill($0, 0) != 0 && errno == ESRCH }
  }

  private static func removeFolders(where isOver: (pid_t) -> Bool) {
    for place in ["/dev/shm", "/tmp"] {
      for name in (try? FileManager.default.contentsOfDirectory(atPath: place)) ?? [] {
        let parts = name.split(separator: "-")
        guard name.hasPrefix("dossier-test-"), parts.count == 4, let owner = pid_t(parts[2]),
          isOver(owner)
        else { continue }
        try? FileManager.default.removeItem(atPath: "\(place)/\(name)")
      }
    }
  }

  private static func onLastingThread(
    _ body: @escaping @Sendable () throws(TestClusterError) -> TestProgram
  ) throws(TestClusterError) -> TestProgram {
    let box = LastingThread(body)
    var thread = pthread_t()
    let code = pthread_create(
      &thread,
      nil,
      { argument in
        guard let argument else { return nil }
        Unmanaged<LastingThread>.fromOpaque(argument).takeRetainedValue().run()
        while true { pause() }
      },
      Unmanaged.passRetained(box).toOpaque()
    )
    guard code == 0 else { throw TestClusterError(reason: "no thread") }
    while true {
      if let result = box.result.withLock({ $0 }) { return try result.get() }
      usleep(1_000)
    }
  }
}

private final class LastingThread: Sendable {
  let result = Mutex<Result<TestProgram, TestClusterError>?>(nil)
  private let body: @Sendable () throws(TestClusterError) -> TestProgram

  init(_ body: @escaping @Sendable () throws(TestClusterError) -> TestProgram) {
    self.body = body
  }

  func run() {
    let outcome = Result { () throws(TestClusterError) in try body() }
    result.withLock { $0 = outcome }
  }
}

/// The reason for a missing cluster or database.
package struct TestClusterError: Error, CustomStringConvertible {
  package let reason: String
  package var description: String { reason }
}
