import CommandKit
import AppServicesWire
import EventLoop
import Glibc
import JSON
import Postgres
import Runtime
import Tenancy
import Transfer

/// The options of `dossier user import`.
struct ImportRequest: Sendable {
  let source: String
  let app: String?
  let existing: ExistingUser
  let batch: Int
  let results: String?
  let isResumed: Bool
  let format: ImportFormat
  let issuer: String?
  let areEmailsVerified: Bool
  /// The file of password hashes.
  let hashes: String?
  /// The file of rules of App Services.
  let rules: String?
}

/// One run of `dossier user import`.
@EventLoop final class ImportRun {
  private let request: ImportRequest
  private let context: CommandContext
  private let reader: LineReader
  private let work: UserImport
  private let results: ResultsFile?
  private let line = ProgressLine()
  private let parser: ImportParser
  /// The number of rows that earlier runs imported.
  private let rowsBefore: Int
  private var isStopping = false
  private var listener: Signals?
  private var shown = 0

  /// The maximum size of a batch in bytes of lines, with any number of rows.
  private static let batchBytes = 4_194_304
  /// The number of lines with faults to print if no results file is given.
  private static let shownFailures = 10

  /// Prepares a run.
  ///
  /// - Throws: an error if a file cannot be opened, or if the database rejects the run.
  init(_ request: ImportRequest, _ context: CommandContext) async throws(CommandFailure) {
    self.request = request
    self.context = context
    let record = try await context.record(of: request.app)
    try request.requireDecision(aboutRulesFor: record.app)
    let (foreign, hashes) = try await request.foreignReader(for: record.app, context)
    reader = try LineReader(opening: request.source, boundTo: hashes)
    parser = try await context.run { context async throws(Failure) in
      try await ImportParser(foreign, for: record.app, context)
    }
    let source = request.source == "-" ? "-" : Self.absolute(request.source)
    work = try await context.run(in: request.app) { context async throws(Failure) in
      try await UserImport.open(source, request.existing, isResumed: request.isResumed, context)
    }
    rowsBefore = work.progress.tally.rows
    if let path = request.results {
      let results = try ResultsFile(path, keeping: work.progress.resultsBefore)
      // The results that the previous run committed to the database but did not write to the file.
      try results.write(work.progress.results)
      self.results = results
    } else {
      results = nil
    }
  }

  private static func absolute(_ path: String) -> String {
    guard let name = realpath(path, nil) else { return path }
    defer { free(name) }
    return String(cString: name)
  }

  /// Imports up to the end of the input or Ctrl-C.
  func run() async throws(CommandFailure) -> CommandOutput {
    do throws(EventLoopError) {
      listener = try Signals(Self.signals) { [weak self] _ in self?.stop() }
    } catch {
      throw CommandFailure(error.description, .internalError)
    }
    try await passOver()
    var batch: [ImportLine] = []
    var bytes = 0
    while !isStopping, let text = try await reader.next() {
      guard let content = parser.content(of: text) else { continue }
      if case .text(let text) = text { bytes += text.count }
      let end = reader.position
      batch.append(ImportLine(number: end.lines, content: content, end: end))
      guard batch.count >= request.batch || bytes >= Self.batchBytes else { continue }
      try await write(batch)
      batch = []
      bytes = 0
    }
    guard !isStopping else { interrupt() }
    try await write(batch)
    try await doing { work async throws(Failure) in try await work.finish() }
    line.clear()
    return output()
  }

  /// Skips the lines that were imported already, and checks that they are unchanged.
  private func passOver() async throws(CommandFailure) {
    while reader.position.lines < work.progress.lines, try await reader.next() != nil {}
    guard work.progress.isBehind(reader.position) else {
      throw CommandFailure(
        "the input is not that of the earlier run; without --resume, the import starts from the beginning",
        .inputChanged
      )
    }
    if work.progress.lines > 0 { say("continuing after line \(work.progress.lines)") }
  }

  private func write(_ batch: [ImportLine]) async throws(CommandFailure) {
    var rest = batch[...]
    while !rest.isEmpty {
      var left = rest
      let written = try await doing { work async throws(Failure) in try await work.write(&left) }
      rest = left
      try results?.write(work.progress.results)
      show(written)
      let tally = work.progress.tally
      line.update(rows: tally.rows - rowsBefore, "\(tally.rows) rows, \(tally.failed) failed")
      if isStopping { interrupt() }
    }
  }

  private func doing<Result>(
    _ body: @EventLoop (UserImport) async throws(Failure) -> Result
  ) async throws(CommandFailure) -> Result {
    do throws(Failure) {
      return try await body(work)
    } catch .preconditionFailed {
      throw CommandFailure("another run continues this import", .inputChanged)
    } catch {
      throw CommandFailure(error)
    }
  }

  private func show(_ written: [ImportResult]) {
    guard results == nil else { return }
    for result in written {
      var faults = result.leftOut
      if case .failed(let errors) = result.outcome { faults = errors }
      guard !faults.isEmpty else { continue }
      shown += 1
      guard shown <= Self.shownFailures else { continue }
      line.clear()
      for fault in faults { say("line \(result.line) \(fault.place): \(fault.detail)") }
      if shown == Self.shownFailures { say("more are not shown: see --results") }
    }
  }

  private func output() -> CommandOutput {
    let tally = work.progress.tally
    let rows = tally.rows - rowsBefore
    return CommandOutput(
      tally.json, remark: "\(rows) rows now, \(line.rate(of: rows)) a second",
      status: tally.failed > 0 ? .someFailed : .success
    )
  }

  // MARK: Stopping

  /// The signals that stop the run.
  ///
  /// The loop handles them, so all threads must block them.
  nonisolated static let signals = [SIGINT, SIGTERM]

  /// Stops the run after the current batch, or at once if no batch is being written.
  private func stop() {
    if reader.isWaiting || isStopping { interrupt() }
    isStopping = true
  }

  private func interrupt() -> Never {
    line.clear()
    let tally = work.progress.tally
    end(
      ["stopped after line \(work.progress.lines), \(tally.failed) failed; --resume continues"],
      .interrupted
    )
  }
}

extension ImportRequest {
  /// Returns a reader of foreign lines, or nil for Dossier's own format.
  ///
  /// - Throws: an error if the file of hashes cannot be read, or of the database.
  /// - Returns: also the digest of a second file that the reader joins.
  @EventLoop func foreignReader(
    for app: App, _ context: CommandContext
  ) async throws(CommandFailure) -> (reader: (any ForeignReader)?, file: BinaryBytes?) {
    var input = ForeignInput(userField: app.appServicesSettings.userField)
    (input.issuer, input.areEmailsVerified) = (issuer, areEmailsVerified)
    var digest: BinaryBytes?
    if let path = hashes { (input.hashes, digest) = try await Self.hashes(in: path) }
    let reader = try await context.run { [input] context async throws(Failure) in
      try await format.reader(input, for: app, context)
    }
    return (reader, digest)
  }

  /// Reads the file of password hashes, and reports the lines that have none.
  @EventLoop private static func hashes(
    in path: String
  ) async throws(CommandFailure) -> (Auth0Hashes, BinaryBytes) {
    let reader = try LineReader(opening: path)
    var hashes = Auth0Hashes()
    while let line = try await reader.next() {
      guard case .text(let text) = line else {
        say("\(path) line \(reader.position.lines): it is too long")
        continue
      }
      if text.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) { continue }
      do throws(Failure) {
        try hashes.add(text)
      } catch {
        for fault in error.faults {
          say("\(path) line \(reader.position.lines) \(fault.place): \(fault.detail)")
        }
      }
    }
    say("\(hashes.count) password hashes")
    return (hashes, reader.position.digest)
  }
}

extension ImportRequest {
  /// Refuses to import users of an app with rules before the operator has decided about them.
  ///
  /// Rules that made a member read-only are not translated: their expressions have no equivalent.
  /// Without a decision, users could write all of their custom data.
  /// - Throws: `.unconfirmed` without a decision, and errors of the file.
  func requireDecision(aboutRulesFor app: App) throws(CommandFailure) {
    guard let path = rules else { return }
    let json = try InputFile.json(path)
    guard let roles = json["roles"]?.array else {
      throw CommandFailure("\(path) has no list roles, unlike rules.json", .invalid)
    }
    let settings = ["custom_data_writable", "custom_data_readable"]
    guard settings.contains(where: { app.settings.chosen?[$0] == nil }) else { return }
    let filters = json["filters"]?.array ?? []
    let none = ["  (no role: those of default_rule.json apply)"]
    let hidden = filters.map {
      "  the filter \($0["name"]?.string ?? "(no name)") hides documents or members"
    }
    let lines = (roles.isEmpty ? none : roles.flatMap(Self.lines(about:))) + hidden
    throw CommandFailure(
      """
      The app has rules, and nothing was imported. Decide what users may read and write, then repeat:
        dossier app set --app \(app.name) custom_data_writable=… custom_data_readable=…
      Each is true for all members, false, or a list such as /theme,/profile/hobby.
      The roles in \(path):
      \(lines.map(Table.visible).joined(separator: "\n"))
      """,
      .unconfirmed
    )
  }

  /// Returns the lines about a role; none for one that is no object.
  private static func lines(about role: JSON) -> [String] {
    guard let members = role.object else { return [] }
    let rights = rights(["read", "write", "insert", "delete"], members)
    return ["  \(members["name"]?.string ?? "(no name)"): \(rights)"] + fields(of: members, at: "")
  }

  /// Returns the lines about the fields of a role, or of a field.
  private static func fields(of members: JSONObject, at path: String) -> [String] {
    var lines: [String] = []
    for field in members["fields"]?.object ?? JSONObject() {
      guard let own = field.value.object else { continue }
      let path = "\(path)/\(JSONPointer.escaped(field.key))"
      lines.append("    \(path): \(rights(["read", "write"], own))")
      lines += fields(of: own, at: path)
    }
    if let others = members["additional_fields"]?.object {
      lines.append("    all other fields of \(path)/: \(rights(["read", "write"], others))")
    }
    return lines
  }

  private static func rights(_ names: [String], _ members: JSONObject) -> String {
    names.map { name in
      switch members[name] {
      case nil: "\(name) not set"
      case .bool(true): name
      case .bool(false): "no \(name)"
      default: "\(name) by expression"
      }
    }.joined(separator: ", ")
  }
}
