import FoundationEssentials
import Glibc
import Migrations
import TestSupport
import Testing

/// A database, a folder of migrations, and the command for them.
final class Workspace: Sendable {
  let conninfo: String
  let folder: String

  init(database: String? = nil, _ files: [String: String] = [:]) async throws {
    if let database {
      conninfo = database
    } else {
      // Many tests run at once on slow machines.
      conninfo = try await TestCluster.shared.createDatabase() + " connect_timeout=300"
    }
    folder = "/tmp/dossier-migrations-\(getpid())-\(UInt64.random(in: 0 ... .max))"
    mkdir(folder, 0o755)
    for (name, text) in files { try write(name, text) }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  func write(_ name: String, _ text: String) throws {
    try Data(text.utf8).write(to: URL(filePath: "\(folder)/\(name)"))
  }

  func text(of name: String) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: "\(folder)/\(name)")), as: UTF8.self)
  }

  func remove(_ name: String) { unlink("\(folder)/\(name)") }

  /// The path of the command, a link to the programs that are built beside the tests.
  static let command: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let folder = own.split(separator: "/").dropLast().map { "/\($0)" }.joined()
    let path = "\(folder)/dossier-migrate"
    // Tests of another process may use the link that is there.
    symlink("dossier", "\(path).\(getpid())")
    rename("\(path).\(getpid())", path)
    return path
  }()

  /// Starts the command.
  func start(_ words: [String]) throws -> TestProgram {
    var options = ["--migrations", folder]
    if words.first != "new" { options += ["--database", conninfo] }
    return try TestProgram(Workspace.command, words + options)
  }

  /// Runs the command to its end.
  @discardableResult
  func run(_ words: String..., status: Int32 = 0) async throws -> (output: String, errors: String) {
    let program = try start(words)
    let ended = await program.end()
    #expect(ended == status, "\(words): \(program.errors)")
    return (program.output, program.errors)
  }

  /// A unique word for names of roles, which all databases of the server share.
  var id: String { folder.split(separator: "-").suffix(2).joined(separator: "_") }

  /// The schema, without the ledger.
  func catalog() async throws -> String {
    try await sql(Catalog.query.replacing("$1", with: "null"))
  }

  /// Runs SQL, and returns rows as lines with `|` between columns.
  @discardableResult
  func sql(_ sql: String) async throws -> String {
    let program = try TestProgram(
      TestCluster.tool("psql"), ["-XAtq", "-v", "ON_ERROR_STOP=1", "-d", conninfo, "-c", sql]
    )
    let status = await program.end()
    #expect(status == 0, "\(sql): \(program.errors)")
    return program.output.split(separator: "\n").joined(separator: "\n")
  }
}

/// Three consistent files.
let threeFiles = [
  "0001_a.sql": """
  -- First.
  -- migrate: up
  create table a (id int primary key);
  create function twice(n int) returns int language sql immutable
    begin atomic; select case when true then n * 2 end; end;
  -- migrate: down
  drop function twice;
  drop table a;
  """,
  "0002_b.sql": """
  -- migrate: no transaction
  -- migrate: up
  -- Two users of one id are found here.
  create unique index concurrently a_by_id on a (id);
  -- migrate: down
  drop index concurrently a_by_id;
  """,
  "0003_c.sql": """
  -- migrate: up
  create table c (id int references a);
  -- migrate: down
  drop table c;
  """,
]
