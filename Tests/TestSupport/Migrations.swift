import FoundationEssentials

/// The project's own migrations.
enum Migrations {
  /// The up parts of all files in order, and the part of the ledger that programs read.
  static func up() throws -> String {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let folder = "\(root)/migrations"
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      .filter { $0.first?.isNumber == true }
    let versions = names.compactMap { Int($0.prefix(4)) }.map { "(\($0))" }
    let ledger = """
      create table schema_migrations (version integer primary key);
      insert into schema_migrations values \(versions.joined(separator: ", "));

      """
    return try ledger
      + names.map { name in
        let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        let start = text.firstRange(of: "-- migrate: up")?.upperBound ?? text.startIndex
        let end = text.firstRange(of: "-- migrate: down")?.lowerBound ?? text.endIndex
        let part = String(text[start..<end])
        // All of them run in one transaction here.
        return text.contains("-- migrate: no transaction")
          ? part.replacing("concurrently", with: "") : part
      }
      .joined(separator: "\n")
  }
}
