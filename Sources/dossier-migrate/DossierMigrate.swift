package import ArgumentParser
import Configuration
import EventLoop
import FoundationEssentials
import Glibc
import Migrations
import Postgres

/// The command that changes the schema.
package struct DossierMigrate: ParsableCommand {
  package static let configuration = CommandConfiguration(
    commandName: "dossier-migrate",
    abstract: "Brings a database's schema to a version.",
    discussion: """
      Any number of runs may start at once: one works, and the others wait. If a run is killed, the \
      next one continues its work. Progress goes to standard error, results to standard output.

      Exit codes:
      \(MigratorStatus.table)
      """,
    version: Version.text,
    subcommands: [
      Up.self, Down.self, To.self, ShowStatus.self, ShowPlan.self, Verify.self, New.self,
      Dump.self, Distribute.self,
    ]
  )

  package init() {}
}

/// The options of all commands.
struct FolderOptions: ParsableArguments {
  @Option(name: .customLong("migrations"), help: "The folder of the migrations.")
  var path = Self.usualPath

  @Flag(help: "No progress lines.")
  var quiet = false

  var folder: MigrationFolder { MigrationFolder(path) }

  /// The folder of a checkout, otherwise that of the installed package.
  private static let usualPath =
    FileManager.default.fileExists(atPath: "migrations")
    ? "migrations" : "/usr/share/dossier/migrations"
}

/// The options of commands that connect.
struct DatabaseOptions: ParsableArguments {
  @OptionGroup var files: FolderOptions

  @Option(
    name: .customLong("database"),
    help: ArgumentHelp(
      "A connection string or URI of libpq.",
      discussion: "Without it the setting migrate_database: DOSSIER_MIGRATE_DATABASE, or the file "
        + "that DOSSIER_MIGRATE_DATABASE_FILE names, or that of --config."
    )
  )
  var given: String?

  @OptionGroup var settings: ConfigurationOptions

  /// Returns the connection string.
  func conninfo() throws -> String {
    if let given { return given }
    let values = settings.values
    if let value = values[.migrateDatabase]?.value, !value.isEmpty { return value }
    // Problems with other settings are for the serving programs to report.
    let problems = values.problems.filter {
      $0.contains("migrate_database") || $0.contains("MIGRATE")
    }
    throw ValidationError(
      (problems + ["Give --database or the setting migrate_database."]).joined(separator: "\n")
    )
  }

  /// Connects to the database.
  @EventLoop func session(
    _ conninfo: String, readOnly: Bool = false
  ) async throws(MigrationError) -> MigratorSession {
    let isQuiet = files.quiet
    return try await MigratorSession.open(conninfo, readOnly: readOnly) { line in
      if !isQuiet { say(line) }
    }
  }
}

/// How long a command waits for other runs.
struct LockOptions: ParsableArguments {
  @Option(help: "Seconds to wait for other runs; without it as long as it takes.")
  var lockTimeout: Int?

  private static let year = 365 * 86_400

  func validate() throws {
    if let lockTimeout, !(0...Self.year).contains(lockTimeout) {
      throw ValidationError("--lock-timeout must be a number from 0 to \(Self.year).")
    }
  }
}

/// The options of commands that change the schema.
struct RunOptions: ParsableArguments {
  @OptionGroup var database: DatabaseOptions

  @OptionGroup var lock: LockOptions

  @Flag(help: "Apply files older than the newest applied one.")
  var allowOutOfOrder = false

  /// Runs to `goal`, prints the result, and ends the process.
  func run(to goal: Goal, grantTo role: String? = nil) throws -> Never {
    let conninfo = try database.conninfo()
    onLoop { () async throws(MigrationError) in
      let migrations = try database.files.folder.migrations()
      let session = try await database.session(conninfo)
      let done = try await Runner(session, migrations, allowsOutOfOrder: allowOutOfOrder).run(
        to: goal, lockTimeout: lock.lockTimeout, grantTo: role
      )
      session.connection.close()
      let counts = [Direction.up, .down].compactMap { direction in
        let count = done.steps.count { $0.direction == direction }
        return count == 0 ? nil : "\(count) \(direction.rawValue)"
      }
      let summary = counts.isEmpty ? "nothing to do" : counts.joined(separator: ", ")
      return "\(summary); at version \(done.version)\n"
    }
  }
}

/// Runs `body` on the loop, writes its result, and ends the process with its status.
func onLoop(
  _ body: @escaping @EventLoop @Sendable () async throws(MigrationError) -> String
) -> Never {
  EventLoop.task {
    do throws(MigrationError) {
      Output.write(try await body(), to: 1)
      exit(MigratorStatus.success.rawValue)
    } catch {
      say("\(error)")
      exit(error.status.rawValue)
    }
  }
  EventLoop.reactor.run()
  exit(1)
}

/// Prints a progress line for the operator.
func say(_ line: String) { Output.write("dossier-migrate: \(line)\n", to: 2) }

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
