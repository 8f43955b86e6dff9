import CommandKit
import ArgumentParser
import Configuration
import DeploymentFiles
import Encoding
import EventLoop
import FoundationEssentials
import HTTP
import JSON
import Records
import Transfer

struct ApplyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "apply",
    abstract: "Makes apps, clients, APIs, roles, issuers and connections as files describe them.",
    discussion: """
      A file is JSON or YAML, as export-config writes it. Names identify records, so a file works on \
      another deployment. The command prints what it will do, asks, and does it in order. When it \
      was interrupted, run it again: it continues. A second run changes nothing.

      A record that a file names is described whole: what the file omits returns to its default. \
      Records and sections that no file names stay as they are; --prune deletes or resets them, in \
      the apps that the files name. Apps are never deleted.

      A secret is {"env": "NAME"} or {"file": "PATH"}, relative to the file. Stored secrets cannot \
      be compared, so one is sent when its record is created, or with --secrets. A new client that \
      brings no secret gets one, which is printed only once.

        dossier export-config >deployment.yaml
        dossier apply --check deployment.yaml
        dossier apply deployment.yaml
      """)
  @OptionGroup var common: CommonOptions
  @OptionGroup var confirmation: Confirmation

  @Option(help: ArgumentHelp("Applies this app of the files alone.", valueName: "name"))
  var app: String?

  @Flag(help: "Prints what would be done and changes nothing; exits with 2 if there is something.")
  var check = false

  @Flag(help: "Deletes what the files do not name.")
  var prune = false

  @Flag(help: "Sends the secrets of records that exist, too.")
  var secrets = false

  @Flag(
    name: .customLong("force"),
    help: "Changes passkey_rp_id also if users have passkeys, which then work no longer.")
  var isForced = false

  @Argument(help: ArgumentHelp("The files; - is standard input.", valueName: "file"))
  var files: [String]

  func run() throws {
    let isJSON = common.output.isJSON
    common.run(isLarge: true) { context async throws(CommandFailure) in
      var work = try await Deployment.plan(
        files, only: app, Plan.Options(prunes: prune, sendsSecrets: secrets), context)
      work.isForced = isForced
      let text = PlanText.text(of: work.plan)
      let steps = work.plan.differences
      if check || steps.isEmpty {
        if !isJSON { Output.write(text, to: 1) }
        return CommandOutput(
          isJSON ? .array(work.plan.steps.map(\.json)) : .null,
          status: steps.isEmpty ? .success : .differs)
      }
      Output.write(text, to: isJSON ? 2 : 1)
      try confirmation.ask(steps.count == 1 ? "Do this?" : "Do these \(steps.count) steps?")
      return await work.apply(context)
    }
  }
}

struct ExportConfigCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export-config",
    abstract: "Writes a file for apply that describes what exists.",
    discussion: """
      The file has what differs from the defaults, in a fixed order, so that it can be kept in git. \
      It has no users, signing keys and secrets. Where an issuer or a connection has a secret, \
      the file names a variable of the environment for apply.
      """)
  @OptionGroup var settings: ConfigurationOptions

  enum Format: String, CaseIterable, ExpressibleByArgument { case json, yaml }

  @Option(help: ArgumentHelp("Only this app.", valueName: "name"))
  var app: String?

  @Option(help: "json or yaml.")
  var format = Format.yaml

  func run() throws {
    settings.run(asJSON: true) { context async throws(CommandFailure) in
      let standing = try await Deployment.standing(
        apps: app.map { [$0] }, clients: app == nil, context)
      let file: JSON
      do throws(FileFaults) {
        file = try deploymentFile(of: standing, Deployment.kinds)
      } catch {
        throw CommandFailure(error.lines.joined(separator: "\n"), .conflict)
      }
      return CommandOutput(text: Array(text(of: file).utf8))
    }
  }

  private func text(of file: JSON) -> String {
    switch format {
    case .json: file.lines()
    case .yaml: "# Written by dossier export-config, for dossier apply.\n" + YAMLWriter(file).text
    }
  }
}

// MARK: Work

/// A plan for the deployment, and the requests that read it and take its steps.
@EventLoop struct Deployment {
  let plan: Plan
  /// Whether apps change also if users depend on what is changed.
  var isForced = false
  /// The ids of APIs, by app and identifier.
  private var servers: [String: String] = [:]
  private let secrets: [String: String]
  private var done: [JSON] = []

  nonisolated static let kinds = Kind.all(settings: .all)

  private init(_ plan: Plan, _ standing: [Standing]) throws(CommandFailure) {
    self.plan = plan
    for one in standing { servers[Self.key(one.kind, one.app, one.name)] = one.id }
    // Before anything is written.
    var secrets: [String: String] = [:]
    for step in plan.differences {
      for name in step.secrets {
        guard let record = step.declaration, let source = record.secrets[name] else { continue }
        secrets["\(step.title)\0\(name)"] = try Self.secret(source, of: record)
      }
    }
    self.secrets = secrets
  }

  private static func key(_ kind: Kind, _ app: String?, _ name: String) -> String {
    "\(kind.section)\0\(app ?? "")\0\(name)"
  }

  private static func secret(
    _ source: SecretSource, of record: Declaration
  ) throws(CommandFailure) -> String {
    if let path = source.path {
      let folder = record.file.lastIndex(of: "/").map { record.file[...$0] } ?? ""
      return try InputFile.password(path.hasPrefix("/") ? path : folder + path)
    }
    let name = source.variable ?? ""
    guard let value = ProcessInfo.processInfo.environment[name], !value.isEmpty else {
      throw CommandFailure(
        "\(record.place.description): the environment has no variable \(name).", .invalid)
    }
    return value
  }

  /// Reads files and what stands, and compares them.
  static func plan(
    _ paths: [String], only: String?, _ options: Plan.Options, _ context: CommandContext
  ) async throws(CommandFailure) -> Deployment {
    var files: [DeploymentFile] = []
    do {
      for path in paths {
        let text = try InputFile.read(path, upTo: DeploymentFile.longest)
        files.append(
          try DeploymentFile(Array(text[...].withoutByteOrderMark), name: path))
      }
      let declared = try Declarations(files, kinds, only: only)
      if let only, declared.apps.isEmpty {
        throw CommandFailure("No file names the app \(only).", .invalid)
      }
      let standing = try await standing(
        apps: declared.apps, clients: declared.namesClients, context)
      return try Deployment(try Plan(declared, standing, kinds, options), standing)
    } catch let error as FileFaults {
      throw CommandFailure(error.lines.map(Table.visible).joined(separator: "\n"), .invalid)
    } catch let error as CommandFailure {
      throw error
    } catch {
      throw CommandFailure("\(error)", .internalError)
    }
  }

  /// Reads the records of apps that exist, and clients of the operator.
  ///
  /// - Parameters:
  ///   - apps: the names of the apps; nil for all.
  ///   - clients: whether to read the clients of the operator.
  ///   - context: the context of the command.
  /// - Returns: the records.
  /// - Throws: an error of the API.
  static func standing(
    apps: [String]?, clients: Bool, _ context: CommandContext
  ) async throws(CommandFailure) -> [Standing] {
    var standing: [Standing] = []
    let list = try await context.send(.get, "/v1/apps").array ?? []
    let all = list.compactMap { $0["name"]?.string }
    for app in apps ?? all where all.contains(where: app.hasSameBytes) {
      for kind in kinds { standing += try await records(kind, of: app, context) }
    }
    for kind in kinds where clients && kind.section == "clients" {
      standing += try await records(kind, of: nil, context)
    }
    return standing
  }

  private static func records(
    _ kind: Kind, of app: String?, _ context: CommandContext
  ) async throws(CommandFailure) -> [Standing] {
    guard !kind.isApp else {
      return [Standing(kind, of: nil, try await context.send(.get, context.path(of: app)))]
    }
    let query = kind.app == .member ? app.map { "?app=\(segment($0))" } ?? "" : ""
    let field = kind.app == .field ? app : nil
    let list = try await context.send(.get, kind.path + query, to: field)
    var records: [Standing] = []
    for item in list.array ?? [] {
      // Another path has no id, or is being removed.
      guard let id = item[kind.id]?.string, item["state"] != "removing",
        kind.app != .member || item["app"] == app.map(JSON.string) ?? .null
      else { continue }
      var json = item
      let path = "\(kind.path)/\(segment(id))"
      switch kind.form {
      case .fixed: break
      case .value(let column):
        let value = try await context.send(.get, path, to: field)
        json = [kind.key: .string(id), column: value]
      case .record: json = try await context.send(.get, path, to: field)
      }
      var scopes: JSON = []
      if let name = kind.scopes {
        scopes = try await context.send(.get, "\(path)/\(name)", to: field)
      }
      records.append(Standing(kind, of: app, json, scopes: scopes))
    }
    return records
  }

  /// Takes the steps in their order.
  ///
  /// - Returns: what was done. It has the status of the step that failed, if one did.
  consuming func apply(_ context: CommandContext) async -> CommandOutput {
    var work = self
    let columns = ["action", "kind", "app", "name", "id", "secret"]
    for step in work.plan.differences {
      do throws(CommandFailure) {
        let made = try await work.take(step, context)
        var row = step.json.object ?? JSONObject()
        row["id"] = made["id"] ?? (step.standing?.id).map(JSON.string) ?? .null
        row["secret"] = made["secret"]
        work.done.append(.object(row))
      } catch {
        say("\(step.title): \(error.reason)")
        let isOvertaken = [.preconditionFailed, .conflict, .notFound].contains(error.status)
        let advice = isOvertaken ? "Another change may have come first. " : ""
        return CommandOutput(
          .array(work.done), columns: columns,
          remark: "\(advice)\(work.done.count) of \(work.plan.differences.count) steps are done. "
            + "Run the command again; it continues.", status: error.status)
      }
    }
    let hasSecret = work.done.contains { $0["secret"] != nil }
    return CommandOutput(
      .array(work.done), columns: columns, remark: hasSecret ? "secrets are not shown again" : nil)
  }

  /// Takes one step; returns the record that it made.
  private mutating func take(
    _ step: Step, _ context: CommandContext
  ) async throws(CommandFailure) -> JSON {
    let kind = step.kind
    let field = kind.app == .field ? step.app : nil
    var standing = step.standing
    if step.action == .change, standing == nil {
      // The app is new, and has this record from its creation.
      standing = try await Self.records(kind, of: step.app, context)
        .first { $0.name.hasSameBytes(as: step.name) }
    }
    var path = "\(kind.path)/\(segment(standing?.id ?? step.name))"
    var made: JSON = .null
    var version = standing?.version
    switch (step.action, kind.form) {
    case (.unchanged, _): break
    case (.delete, _): _ = try await context.send(.delete, path, to: field)
    case (_, .value(let column)):
      let value = step.changes.first { $0.column.name == column }?.new ?? .null
      _ = try await context.send(.put, path, .json(value), to: field)
    case (.create, _):
      var body = adding(secretsOf: step, to: step.description)
      if kind.app == .member { body["app"] = step.app.map(JSON.string) ?? .null }
      made = try await context.send(.post, kind.path, .json(.object(body)), to: field)
      let id = made[kind.id]?.string ?? step.name
      path = "\(kind.path)/\(segment(id))"
      version = made["version"]?.number?.int
      servers[Self.key(kind, step.app, step.name)] = id
      if let patch = step.patch { try await change(path, of: kind, patch, version, field, context) }
    case (.change, _):
      let patch = adding(secretsOf: step, to: step.patch ?? JSONObject())
      if patch.count > 0 { try await change(path, of: kind, patch, version, field, context) }
    }
    for (server, scopes) in step.scopes {
      let key = Self.key(Deployment.kinds.first { $0.section == "apis" } ?? kind, step.app, server)
      guard let id = servers[key] else {
        throw CommandFailure("The app has no API with the identifier \(server).", .invalid)
      }
      let path = "\(path)/\(kind.scopes ?? "")/\(segment(id))"
      if scopes == nil, kind.section == "clients" {
        _ = try await context.send(.delete, path, to: field)
      } else {
        let body: JSON = ["scopes": scopes ?? []]
        _ = try await context.send(.put, path, .json(body), to: field)
      }
    }
    return made
  }

  private func change(
    _ path: String, of kind: Kind, _ patch: JSONObject, _ version: Int?, _ field: String?,
    _ context: CommandContext
  ) async throws(CommandFailure) {
    let query = isForced && kind.isApp ? "?force=true" : ""
    _ = try await context.send(
      .patch, path + query, .mergePatch(.object(patch)), to: field, ifVersion: version)
  }

  private func adding(secretsOf step: Step, to members: JSONObject) -> JSONObject {
    var members = members
    for name in step.secrets { members[name] = secrets["\(step.title)\0\(name)"].map(JSON.string) }
    return members
  }
}

// MARK: Output

/// A plan as people read it.
enum PlanText {
  /// In characters.
  private static let longest = 80

  static func text(of plan: Plan) -> String {
    var (text, same) = ("", 0)
    for step in plan.steps {
      let given = step.declaration?.secrets.keys.sorted() ?? []
      if step.action == .unchanged {
        same += 1
      } else {
        text += "\(step.action.rawValue) \(Table.visible(step.title))\n"
        for change in step.changes {
          let old = step.action == .create ? "" : "\(value(change.old)) → "
          text += "  \(change.column.name): \(old)\(value(change.new))\n"
        }
      }
      for name in given {
        if step.secrets.contains(name) {
          text += "  \(name): sent\n"
        } else {
          let isInitial = step.kind.initial.contains(name)
          let advice = isInitial ? "it is sent at creation" : "--secrets sends it"
          text += "\(Table.visible(step.title)): \(name) is not compared; \(advice)\n"
        }
      }
    }
    return text + "\(plan.differences.count) to do, \(same) unchanged\n"
  }

  private static func value(_ json: JSON) -> String {
    let text = Table.visible(json.text)
    return text.count > longest ? text.prefix(longest) + "…" : text
  }
}
