import ArgumentParser
import Migrations

struct Distribute: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Distributes the tables over the nodes of Citus.",
    discussion: """
      It copies each table in a transaction of its own. A run that was interrupted is continued by \
      the next one. Stop dossierd on all hosts first, and make a backup. The extension Citus and \
      the nodes must be there: see "When one database is not enough" in deploy/README.md.
      """)

  @OptionGroup var options: DatabaseOptions

  @Flag(help: "Show where each table goes and its size; change nothing.")
  var dryRun = false

  @Option(help: "The number of shards of each table with a key; without it that of Citus.")
  var shards: Int?

  @OptionGroup var lock: LockOptions

  func validate() throws {
    if let shards, !(1...64_000).contains(shards) {
      throw ValidationError("--shards must be a number from 1 to 64000.")
    }
  }

  func run() throws {
    let conninfo = try options.conninfo()
    onLoop { () async throws(MigrationError) in
      let migrations = try options.files.folder.migrations()
      let session = try await options.session(conninfo, readOnly: dryRun)
      let distributor = Distributor(session, migrations, shards: shards)
      if dryRun { return try await distributor.plan() }
      let count = try await distributor.run(lockTimeout: lock.lockTimeout)
      return count == 0 ? "all tables are distributed\n" : "distributed \(count) tables\n"
    }
  }
}
