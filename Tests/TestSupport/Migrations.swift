import FoundationEssentials

/// The project's own migrations.
enum Migrations {
  /// The up parts of all files, in their order.
  static func up() throws -> String {
    let root = "/" + #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let folder = "\(root)/migrations"
    return try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
      .filter { $0.first?.isNumber == true }
      .map { name in
        let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
        let start = text.firstRange(of: "-- migrate: up")?.upperBound ?? text.startIndex
        let end = text.firstRange(of: "-- migrate: down")?.lowerBound ?? text.endIndex
        return String(text[start..<end])
      }
      .joined(separator: "\n")
  }
}
