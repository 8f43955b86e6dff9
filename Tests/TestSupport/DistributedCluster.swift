import FoundationEssentials
import Glibc
import Synchronization

/// A coordinator of Citus with two other nodes, in a folder of the test process.
///
/// The nodes listen only on sockets beside their data. So each finds the others by its own working
/// directory. Tests that run at once need clusters of their own: roles belong to all databases of a
/// server, so that two databases cannot get nodes at once.
package final class DistributedCluster: Sendable {
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
  private let lastDatabase = Atomic<Int>(0)
  private let folder = TestCluster.newFolder()

  /// Starts the nodes, which stop with the process.
  ///
  /// - Throws: `TestClusterError`.
  package init() throws(TestClusterError) {
    try TestCluster.makeFolder(folder)
    for port in Self.ports {
      try TestCluster.start(
        "node-\(port)",
        in: folder,
        port: port,
        [
          "shared_preload_libraries=citus", "wal_level=logical", "max_prepared_transactions=100",
          "citus.local_hostname=\(Self.sockets)", "citus.node_conninfo=sslmode=disable",
          "citus.enable_statistics_collection=off", "citus.shard_count=32",
        ]
      )
    }
  }

  /// Creates an empty database on each node.
  ///
  /// - Parameter isJoined: whether the coordinator knows the other nodes.
  /// - Returns: the connection string of the coordinator.
  /// - Throws: `TestClusterError`.
  package func createDatabase(isJoined: Bool = true) throws(TestClusterError) -> String {
    let name = "distributed_\(lastDatabase.add(1, ordering: .relaxed).newValue)"
    for port in Self.ports {
      try run("create database \(name)", port: port, "postgres")
      try run("create extension citus", port: port, name)
    }
    if isJoined {
      let (sockets, ports) = (Self.sockets, Self.ports)
      var words = ["select citus_set_coordinator_host('\(sockets)', \(ports[0]))"]
      words += ports.dropFirst().map { "select citus_add_node('\(sockets)', \($0))" }
      try run(words.joined(separator: ";"), port: ports[0], name)
    }
    return "host=\(folder) user=postgres dbname=\(name) connect_timeout=300"
  }

  private func run(_ sql: String, port: Int, _ database: String) throws(TestClusterError) {
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
