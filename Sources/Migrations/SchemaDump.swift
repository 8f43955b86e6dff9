import CPostgres
package import EventLoop
import FoundationEssentials
import Postgres

/// The schema as pg_dump writes it, for people to read.
///
/// Versions of pg_dump write the same schema differently, so comparisons use `Catalog` instead.
package struct SchemaDump: Equatable, Sendable {
  package let text: String

  /// Dumps the schema.
  ///
  /// - Parameters:
  ///   - session: gives the server's version, and the ledger's schema, which is left out.
  ///   - conninfo: the connection string for pg_dump, which connects by itself.
  ///   - program: the path of pg_dump. Nil searches for one.
  /// - Throws: `.pgDump` if pg_dump is missing, too old or fails.
  @EventLoop package init(
    _ session: MigratorSession, _ conninfo: String, program: String?
  ) async throws(MigrationError) {
    let number = try await session.query("show server_version_num").rows.first?[0] ?? ""
    let server = (Int(number) ?? 0) / 10_000
    let path = try SchemaDump.find(program, server: server)
    let ledger = try await session.ledger()
    let target = try DumpTarget(conninfo)
    let outcome = try SchemaDump.run(
      path,
      ["--schema-only", "--no-owner", "--no-privileges", "--dbname=\(target.conninfo)"]
        + Ledger.tables.map {
          "--exclude-table=\(quotedName(ledger.schema)).\(quotedName($0))"
        },
      environment: target.environment
    )
    guard outcome.ending == .exited(0) else {
      throw .pgDump("\(path) failed: \(String(decoding: outcome.complaint, as: UTF8.self))")
    }
    text = SchemaDump.normalized(String(decoding: outcome.output, as: UTF8.self))
  }

  init(text: String) { self.text = text }

  // MARK: Running pg_dump

  /// The maximum length of a dump: longer than any schema.
  private static let limit = 1 << 30

  /// Runs pg_dump and waits for it without a timeout, since locks may delay it.
  private static func run(
    _ path: String, _ arguments: [String],
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws(MigrationError) -> Subprocess.Completion {
    do throws(EventLoopError) {
      return try Subprocess(path: path, arguments, environment: environment)
        .run(limit: limit, deadline: nil)
    } catch {
      throw .pgDump("\(error)")
    }
  }

  // MARK: Finding pg_dump

  /// Returns the path of a pg_dump of the server's version, otherwise of the next newer version.
  private static func find(_ program: String?, server: Int) throws(MigrationError) -> String {
    var found: [(path: String, version: Int)] = []
    for path in program.map({ [$0] }) ?? candidates()
    where FileManager.default.isExecutableFile(atPath: path) {
      guard let version = try? run(path, ["--version"]) else { continue }
      let banner = String(decoding: version.output, as: UTF8.self)
      guard let match = banner.firstMatch(of: #/PostgreSQL\) ([0-9]+)/#), let major = Int(match.1)
      else { continue }
      found.append((path, major))
    }
    if let same = found.first(where: { $0.version == server }) { return same.path }
    if let newer = found.filter({ $0.version > server }).min(by: { $0.version < $1.version }) {
      return newer.path
    }
    guard let older = found.max(by: { $0.version < $1.version }) else {
      throw .pgDump(
        "there is no pg_dump " + (program.map { "at \($0)" } ?? "in PATH or /usr/lib/postgresql")
          + "; install postgresql-client-\(server)"
      )
    }
    throw .pgDump(
      "\(older.path) is of version \(older.version), older than the server's \(server); "
        + "install postgresql-client-\(server)"
    )
  }

  private static func candidates() -> [String] {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/pg_dump" } + versions.sorted().map { "\(root)/\($0)/bin/pg_dump" }
  }

  // MARK: Normalization

  private static let headSettings = ["SET ", "SELECT pg_catalog.set_config("]
  private static let dropped = [
    "SET default_tablespace = ", "SET default_table_access_method = ", "\\restrict ",
    "\\unrestrict ", "-- Dumped ",
  ]

  /// Returns the dump without versions, settings of the dumping session, and pg_dump's `\restrict`.
  ///
  /// The settings stand before the first object, except for two that pg_dump repeats.
  package static func normalized(_ dump: String) -> String {
    var kept: [Substring] = []
    var (isHead, isAfterDropped) = (true, true)
    for line in dump.lines {
      if line.hasPrefix("-- Name: ") { isHead = false }
      if isHead && headSettings.contains(where: line.hasPrefix)
        || dropped.contains(where: line.hasPrefix)
      {
        isAfterDropped = true
      } else if isAfterDropped, line.isEmpty, kept.last?.isEmpty ?? true {
        continue
      } else {
        kept.append(line)
        isAfterDropped = false
      }
    }
    while kept.last?.isEmpty == true { kept.removeLast() }
    return kept.joined(separator: "\n") + "\n"
  }
}

/// The connection of pg_dump.
///
/// The environment holds the password, since other users cannot read it.
struct DumpTarget {
  let conninfo: String
  let environment: [String: String]

  init(_ conninfo: String) throws(MigrationError) {
    guard let options = PQconninfoParse(conninfo, nil) else {
      throw .cannotConnect("the connection string is malformed")
    }
    defer { PQconninfoFree(options) }
    var words: [String] = []
    var environment = ProcessInfo.processInfo.environment
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val.map({ String(cString: $0) }) {
        let keyword = String(cString: keyword)
        if keyword == "password" {
          environment["PGPASSWORD"] = value
        } else {
          let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
          words.append("\(keyword)='\(escaped)'")
        }
      }
      option += 1
    }
    self.conninfo = words.joined(separator: " ")
    self.environment = environment
  }
}
