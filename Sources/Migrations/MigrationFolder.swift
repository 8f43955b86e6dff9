internal import EventLoop
import FoundationEssentials
import Glibc

/// The folder of the migrations.
package struct MigrationFolder: Sendable {
  package static let schemaFile = "schema.sql"
  package let path: String

  package init(_ path: String) { self.path = path }

  package var schemaPath: String { path + "/" + MigrationFolder.schemaFile }

  /// Returns all migrations, by version.
  ///
  /// - Throws: `.files` if a file cannot be read, `.badFile` if one is invalid or two have the same
  ///   version.
  package func migrations() throws(MigrationError) -> [Migration] {
    var migrations: [Migration] = []
    for file in try fileNames() {
      migrations.append(try Migration(file: file, text: try read(file)))
    }
    migrations.sort { $0.version < $1.version }
    for (previous, next) in zip(migrations, migrations.dropFirst())
    where previous.version == next.version {
      throw .badFile(file: next.file, line: nil, reason: "\(previous.file) has this version too")
    }
    return migrations
  }

  /// Writes the template of a new migration.
  ///
  /// - Returns: the path of the file.
  /// - Throws: `.files` if the file cannot be written, `.badFile` if the name is invalid.
  package func new(_ name: String) throws(MigrationError) -> String {
    let last = try fileNames().compactMap { Migration.parse(fileName: $0)?.version }.max() ?? 0
    let file = Migration.fileName(version: last + 1, name: name)
    guard Migration.parse(fileName: file) != nil else {
      throw .badFile(file: file, line: nil, reason: "a name may have only a-z, 0-9, _ and -")
    }
    let frame = "-- The purpose of this migration.\n\n-- migrate: up\n\n\n-- migrate: down\n\n"
    let descriptor = open(path + "/" + file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw .files("cannot write \(path)/\(file): \(systemMessage(errno))")
    }
    defer { close(descriptor) }
    guard Output.write(Array(frame.utf8), to: descriptor) else {
      throw .files("cannot write \(path)/\(file): \(systemMessage(errno))")
    }
    return path + "/" + file
  }

  /// Reads a file of the folder.
  ///
  /// - Throws: `.files` if the file cannot be read, `.badFile` if it is not UTF-8.
  package func read(_ file: String) throws(MigrationError) -> String {
    guard let data = try? Data(contentsOf: URL(filePath: path + "/" + file)) else {
      throw .files("cannot read \(path)/\(file)")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw .badFile(file: file, line: nil, reason: "it is not UTF-8")
    }
    return text
  }

  /// Writes the dumped schema atomically.
  package func write(schema: String) throws(MigrationError) {
    do {
      try Data(schema.utf8).write(to: URL(filePath: schemaPath), options: .atomic)
    } catch {
      throw .files("cannot write \(schemaPath)")
    }
  }

  private func fileNames() throws(MigrationError) -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      throw .files("cannot read the folder \(path)")
    }
    return names.filter {
      $0.hasSuffix(".sql") && !$0.hasPrefix(".") && $0 != MigrationFolder.schemaFile
    }
  }
}
