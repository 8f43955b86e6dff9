import FoundationEssentials
import Glibc
import Synchronization

/// A coordinator of Citus with two other nodes, in a folder of the test process.
///
/// The nodes listen only on sockets beside their data. So each finds the others by its own working
/// directory.
package enum DistributedCluster {
  /// Whether Citus is installed for the PostgreSQL of the tests.
  package static let isInstalled: Bool = {
    guard let config = try? TestCluster.tool("pg_config"),
      let program = try? TestProgram(config, ["--pkglibdir"]), program.endNow() == 0
    else { return false }
    let folder = program.output.split(whereSeparator: \.isNewline).first ?? ""
    return access("\(folder)/citus.so", R_OK) == 0
  }()

  private static let sockets = "/proc/self/cwd/.."
  private static let ports = [5432, 5433, 5434]
  private static let lastDatabase = Atomic<Int>(0)

  /// The folder of the nodes, which start at the first use.
  private static let folder = Result { () throws(TestClusterError) in
    let folder = "/tmp/dossier-test-\(getpid())-\(UInt32.random(in: 0...0xffff))"
    try TestCluster.makeFolder(folder)
    for port in ports {
      try TestCluster.start(
        "node-\(port)",
        in: folder,
        port: port,
        [
          "shared_preload_libraries=citus", "wal_level=logical", "max_prepared_transactions=100",
          "citus.local_hostname=\(sockets)", "citus.node_conninfo=sslmode=disable",
          "citus.enable_statistics_collection=off", "citus.shard_count=32",
        ]
      )
    }
    return folder
  }

  /// Creates an empty database on each node.
  ///
  /// - Parameter isJoined: whether the coordinator knows the other nodes.
  /// - Returns: the connection string of the coordinator.
  /// - Throws: `TestClusterError`.
  package static func createDatabase(isJoined: Bool = true) throws -> String {
    let folder = try folder.get()
    let name = "distributed_\(lastDatabase.add(1, ordering: .relaxed).newValue)"
    for port in ports {
      try run("create database \(name)", port: port, in: folder, "postgres")
      try run("create extension citus", port: port, in: folder, name)
    }
    if isJoined {
      var words = ["select citus_set_coordinator_host('\(sockets)', \(ports[0]))"]
      words += ports.dropFirst().map { "select citus_add_node('\(sockets)', \($0))" }
      try run(words.joined(separator: ";"), port: ports[0], in: folder, name)
    }
    return "host=\(folder) user=postgres dbname=\(name) connect_timeout=300"
  }

  private static func run(
    _ sql: String,
    port: Int,
    in folder: String,
    _ database: String
  ) throws(TestClusterError) {
    let program = try TestProgram(
      TestCluster.tool("psql"),
      [
        "-XAtq", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", "\(port)", "-U", "postgres",
        "-d", database, "-c", sql,
      ]
    )
    guard program.endNow() == 0 else { throw TestClusterError(reason: program.errors) }
  }
}
