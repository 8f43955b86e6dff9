import ArgumentParser
import Distribution
import EventLoop
import FoundationEssentials
import Migrations

struct Up: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Applies all pending migrations.")

  @OptionGroup var options: RunOptions

  @Option(help: "The role of dossierd; each run grants it the rights that dossierd needs.")
  var grantTo: String?

  func run() throws { try options.run(to: .latest, grantTo: grantTo) }
}

struct Down: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Undoes the newest migrations.")

  @OptionGroup var options: RunOptions

  @Option(help: "The number of migrations to undo.")
  var steps = 1

  func validate() throws {
    guard steps > 0 else { throw ValidationError("--steps must be a number from 1.") }
  }

  func run() throws { try options.run(to: .down(steps: steps)) }
}

struct To: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Applies or undoes migrations until a version is the newest.",
    discussion: """
      It undoes migrations of a newer program with the statements that the database has recorded.
      """)

  @OptionGroup var options: RunOptions

  @Argument(help: "The version; 0 undoes all.")
  var version: Int

  func run() throws { try options.run(to: .version(version)) }
}

struct ShowStatus: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Lists the migrations and their states."
  )

  @OptionGroup var options: DatabaseOptions

  @Flag(help: "Prints JSON, for programs, instead of a table.")
  var json = false

  func run() throws {
    let conninfo = try options.conninfo()
    onLoop { () async throws(MigrationError) in
      let migrations = try options.files.folder.migrations()
      let session = try await options.session(conninfo, readOnly: true)
      let all = Status.all(migrations, try await session.ledger())
      let found = try await session.distribution()
      let distribution = found.hasBegun ? found.line : nil
      guard json else {
        let lines = all.map(\.line) + (distribution.map { [$0] } ?? [])
        return lines.map { $0 + "\n" }.joined()
      }
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
      let report = Report(migrations: all, distribution: distribution)
      guard let data = try? encoder.encode(report) else { throw .files("cannot write JSON") }
      return String(decoding: data, as: UTF8.self) + "\n"
    }
  }

  private struct Report: Encodable {
    let migrations: [Status]
    /// The state in one line; nil for a database that is not distributed.
    let distribution: String?
  }
}

struct ShowPlan: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan", abstract: "Prints the SQL of a run; changes nothing."
  )

  @OptionGroup var options: DatabaseOptions

  @Option(help: "The version to plan for; by default the newest.")
  var to: Int?

  @Flag(help: "Apply files older than the newest applied one.")
  var allowOutOfOrder = false

  @Option(help: "As for the command up.")
  var grantTo: String?

  func run() throws {
    let conninfo = try options.conninfo()
    onLoop { () async throws(MigrationError) in
      let migrations = try options.files.folder.migrations()
      let session = try await options.session(conninfo, readOnly: true)
      return try await Runner(session, migrations, allowsOutOfOrder: allowOutOfOrder).plan(
        to: to.map { .version($0) } ?? .latest, grantTo: grantTo
      )
    }
  }
}

struct Verify: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compares the live schema with that of the applied migrations.",
    discussion: """
      It applies the files again, in a schema of its own and in a transaction that it rolls back, \
      and compares the catalogs of both schemas. For that its role needs the right to create a \
      schema. It waits at most 1 s for the lock of a read on each table. If the database is \
      distributed, it also compares the shards of each table with the table.
      """)

  @OptionGroup var options: DatabaseOptions

  @Option(help: "The role of the command up, whose privileges are then compared too.")
  var grantTo: String?

  func run() throws {
    let conninfo = try options.conninfo()
    onLoop { () async throws(MigrationError) in
      let migrations = try options.files.folder.migrations()
      let session = try await options.session(conninfo, readOnly: true)
      let ledger = try await session.ledger()
      try Planner(migrations, ledger).checkApplied()
      let pending = Status.all(migrations, ledger).filter { $0.state != .applied }
      if !pending.isEmpty { session.say("\(pending.count) migrations are not applied") }
      let applied = Set(ledger.entries.map(\.version))
      let rehearsal = Rehearsal(
        session, ledger, migrations.filter { applied.contains($0.version) }, grantTo: grantTo
      )
      if let difference = try await rehearsal.difference() { throw .drift(difference) }
      let distribution = try await session.distribution()
      if let fault = distribution.fault { throw .distribution(fault) }
      if distribution.hasBegun, let difference = try await session.differenceOfShards() {
        throw .drift(difference)
      }
      return "\(applied.count) migrations are applied, and the schema matches them\n"
        + (distribution.hasBegun ? distribution.line + "\n" : "")
    }
  }
}

struct New: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Writes the file of a new migration.")

  @OptionGroup var options: FolderOptions

  @Argument(help: "The name of the migration: a-z, 0-9, _ and -.")
  var name: String

  func run() throws {
    onLoop { () async throws(MigrationError) in try options.folder.new(name) + "\n" }
  }
}

struct Dump: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes the schema to schema.sql in the folder of the migrations, by pg_dump."
  )

  @OptionGroup var options: DatabaseOptions

  @Option(help: "The path of pg_dump; without it PATH and /usr/lib/postgresql are searched.")
  var pgDump: String?

  func run() throws {
    let conninfo = try options.conninfo()
    onLoop { () async throws(MigrationError) in
      let session = try await options.session(conninfo, readOnly: true)
      let dump = try await SchemaDump(session, conninfo, program: pgDump)
      try options.files.folder.write(schema: dump.text)
      return options.files.folder.schemaPath + "\n"
    }
  }
}
