import CommandKit
import ArgumentParser
import EventLoop
import FoundationEssentials
import JSON
import ManagementWire
import Runtime
import Transfer

extension ClientCommand {
  struct Import: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Creates and changes applications, APIs, grants and roles from an export of Auth0.",
      discussion: """
        The export is a folder of Auth0's Deploy CLI (a0deploy export --format directory), its \
        tenant.yaml as JSON, or lists of Auth0's Management API: GET /api/v2/clients, \
        /resource-servers, /client-grants, /roles and /connections. In a folder, each file *.json is \
        read. Export with AUTH0_EXPORT_IDENTIFIERS=true, so that applications keep their client_id.

          dossier client import --dry-run export/
          dossier client import export/

        Every fault of the files is found before anything is written. --skip-refused leaves out the \
        objects that have one, such as an API with signing_alg HS256 or an application whose \
        callbacks have wildcards, and those that refer to them. It imports the others.

        Each object is created or changed by itself, so run the command again after an \
        interruption, or after you have mended what was refused. What is done already is unchanged. The import deletes nothing: a role keeps its other permissions. An application \
        that exists keeps its secret. One that is new and brings no secret gets one, which is \
        printed only once.

        ignored_members lists what Dossier lacks. Connections and the Management API of the tenant \
        are not imported.

        A file may have 8 MiB, and an export 1000 objects of one kind.

        Exit codes: 0 if all is done, 12 if a file breaks a rule, 17 if objects were left out or a \
        step failed, 21 if a file cannot be read; dossier --help has others.
        """)
    @OptionGroup var options: AppOptions

    @Flag(help: "Prints what would be done, and changes nothing.")
    var dryRun = false

    @Flag(help: "Imports the other objects if some are refused, and exits with 17.")
    var skipRefused = false

    @Argument(help: ArgumentHelp("A folder or a file; - is standard input.", valueName: "path"))
    var path: String

    func run() throws {
      let (path, app, isPlan, skipsRefused) = (path, options.app, dryRun, skipRefused)
      options.common.run { context async throws(CommandFailure) in
        let export = try TenantFiles.read(path)
        return try await context.importTenant(
          export, into: app, isPlan: isPlan, skipsRefused: skipsRefused
        )
      }
    }
  }
}

extension CommandContext {
  fileprivate func importTenant(
    _ export: TenantExport, into app: String?, isPlan: Bool, skipsRefused: Bool
  ) async throws(CommandFailure) -> CommandOutput {
    let work = try await run(in: app) { context async throws(Failure) in
      try await TenantImport(export, context)
    }
    let lines = work.faults.map { TenantFiles.line(of: $0.error, in: $0.file) }
    guard lines.isEmpty || skipsRefused else {
      let advice = "Nothing was changed. --skip-refused imports the other objects."
      throw CommandFailure((lines + [advice]).joined(separator: "\n"), .invalid)
    }
    for line in lines { say(line) }
    for name in work.others { say(Table.visible("not imported: \(name)")) }
    var (status, remark) = (ExitStatus.success, isPlan ? "nothing was changed" : nil)
    if !lines.isEmpty { status = .someFailed }
    if !isPlan, let (failure, step) = await work.run() {
      let name = "\(step["kind"]?.string ?? "") \(step["name"]?.string ?? "")"
      say(Table.visible("\(name): \(CommandFailure(failure).reason)"))
      (status, remark) = (.someFailed, "the next run continues")
    }
    let columns = ["action", "kind", "name", "id", "secret", "changes", "ignored_members", "note"]
    return CommandOutput(work.json, columns: columns, remark: remark, status: status)
  }
}

/// The files of an export.
private enum TenantFiles {
  /// The folders of the Deploy CLI, with one object a file.
  private static let folders: [String: TenantExport.Kind] = [
    "clients": .client, "resource-servers": .resourceServer, "grants": .clientGrant,
    "roles": .role, "connections": .connection,
  ]
  private static let databases = "database-connections"
  private static let mostFiles = 5_000
  /// In bytes.
  private static let longest = 8_388_608

  static func read(_ path: String) throws(CommandFailure) -> TenantExport {
    var export = TenantExport()
    guard path != "-", isFolder(path) else {
      try add(path, path, nil, to: &export)
      return export
    }
    var count = 0
    for name in try names(in: path) {
      let inner = "\(path)/\(name)"
      if isFolder(inner) {
        if name == databases {
          for database in try names(in: inner) where isFolder("\(inner)/\(database)") {
            let file = "\(name)/\(database)/database.json"
            try add("\(path)/\(file)", file, .connection, to: &export, &count)
          }
        } else if let kind = folders[name] {
          for file in try names(in: inner) where file.hasSuffix(".json") {
            try add("\(inner)/\(file)", "\(name)/\(file)", kind, to: &export, &count)
          }
        } else {
          export.leaveOut("\(name)/")
        }
      } else if name.hasSuffix(".json") {
        try add(inner, name, nil, to: &export, &count)
      } else if isYAML(name) {
        export.leaveOut("\(name), since only JSON is read")
      }
    }
    guard !export.items.isEmpty else {
      let rule = "no file *.json has an application, API, grant, role or connection of Auth0"
      throw CommandFailure(Table.visible("\(path): \(rule)"), .invalid)
    }
    return export
  }

  private static func add(
    _ path: String, _ name: String, _ kind: TenantExport.Kind?, to export: inout TenantExport,
    _ count: inout Int
  ) throws(CommandFailure) {
    count += 1
    guard count <= mostFiles else {
      throw CommandFailure("an export may have at most \(mostFiles) files", .invalid)
    }
    try add(path, name, kind, to: &export)
  }

  private static func add(
    _ path: String, _ name: String, _ kind: TenantExport.Kind?, to export: inout TenantExport
  ) throws(CommandFailure) {
    guard !isYAML(name) else {
      throw CommandFailure(Table.visible("\(name) is YAML; convert it to JSON"), .invalid)
    }
    let text = try InputFile.read(path, upTo: longest)
    guard text.count <= longest else {
      throw CommandFailure(Table.visible("\(name) is longer than \(longest) bytes"), .invalid)
    }
    do throws(Failure) {
      try export.add(Array(text[...].withoutByteOrderMark), file: name, kind: kind)
    } catch {
      let lines = error.faults.map { line(of: $0, in: name) }
      throw CommandFailure(lines.joined(separator: "\n"), .invalid)
    }
  }

  /// Returns the line of a fault: the file, the place, and the rule.
  static func line(of error: FieldError, in file: String) -> String {
    let place = error.place.isEmpty ? "" : " \(error.place)"
    return Table.visible("\(file)\(place): \(error.detail) (\(error.code))")
  }

  private static func isYAML(_ name: String) -> Bool {
    name.hasSuffix(".yaml") || name.hasSuffix(".yml")
  }

  private static func isFolder(_ path: String) -> Bool {
    var isFolder = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
  }

  private static func names(in folder: String) throws(CommandFailure) -> [String] {
    do {
      return try FileManager.default.contentsOfDirectory(atPath: folder)
        .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    } catch {
      throw CommandFailure("\(folder) cannot be read", .files)
    }
  }
}
