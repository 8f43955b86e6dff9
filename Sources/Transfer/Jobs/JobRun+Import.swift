import EventLoop
import JSON
import Postgres
import Runtime

extension JobRun {
  /// The lines, and their bytes, that are read for one transaction.
  ///
  /// So few that no request waits long for the loop.
  private static let (batch, batchBytes) = (50, 131_072)

  /// Examines the lines of the input, or imports them by the reader and the writer of
  /// `dossier user import`.
  ///
  /// - Parameter userField: the member of App Services' documents with the id of the user.
  /// - Throws: `.preconditionFailed` if the job is lost, errors that concern more than one line.
  func importUsers(_ userField: String) async throws(Failure) {
    guard let format = job.parameters.format else {
      throw .internalError(reason: "an import without a format")
    }
    var foreign = ForeignInput(userField: userField)
    foreign.issuer = job.parameters.issuer
    foreign.areEmailsVerified = job.parameters.areEmailsVerified
    let context = context
    let reader = try await format.reader(foreign, for: app, context)
    let parser = try await ImportParser(reader, for: app, context)
    let existing = format == .appServicesDocuments ? .require : job.parameters.existing
    if progress.isDry {
      try await examine(parser, existing)
    } else {
      try await importAll(parser, existing)
    }
  }

  /// Examines all lines and writes nothing; after an interruption it begins again.
  private func examine(_ parser: ImportParser, _ existing: ExistingUser) async throws(Failure) {
    var fresh = JobProgress()
    (fresh.isDry, fresh.total) = (true, progress.total)
    progress = fresh
    var input = JobInput(of: job.id)
    var rehearsal = ImportRehearsal(existing)
    var tally = ImportTally()
    while case let lines = try await batch(of: &input, parser), !lines.isEmpty {
      let results = try await rehearsal.results(of: lines, context)
      for result in results { tally.count(result.outcome) }
      progress.counts = tally.json.object ?? JSONObject()
      note(results.map(\.text).joined())
      progress.done = input.position.bytes
      try await store()
    }
  }

  private func importAll(_ parser: ImportParser, _ existing: ExistingUser) async throws(Failure) {
    let work = try await UserImport.open(
      "job \(job.id)", existing, isResumed: true, context)
    // The results of a batch that the worker before has written, and did not store here.
    if work.progress.resultsBefore == progress.resultBytes { try await store(work, at: nil) }
    var input = JobInput(of: job.id)
    while input.position.lines < work.progress.lines, try await input.next(context) != nil {}
    guard work.progress.isBehind(input.position) else {
      throw .internalError(reason: "the input of the job \(job.id) has changed")
    }
    while case let lines = try await batch(of: &input, parser), !lines.isEmpty {
      var rest = lines[...]
      while !rest.isEmpty {
        _ = try await work.write(&rest)
        try await store(work, at: input.position.bytes)
      }
    }
    try await work.finish()
  }

  /// Stores the results of the last batch of an import, and what it has counted.
  private func store(_ work: UserImport, at position: Int?) async throws(Failure) {
    let results = work.progress.results
    progress.counts = work.progress.tally.json.object ?? JSONObject()
    note(String(decoding: results, as: UTF8.self))
    progress.done = position ?? work.progress.bytes
    try await store(adding: results)
  }

  /// Notes the first errors among results.
  private func note(_ results: String) {
    for line in results.split(separator: "\n") {
      guard let result = try? JSON.parse(Array(line.utf8)), let number = result["line"] else {
        continue
      }
      for error in result["errors"]?.array ?? [] {
        var members = JSONObject([("line", number)])
        for (name, value) in error.object ?? JSONObject() { members[String(name)] = value }
        progress.note(.object(members))
      }
    }
  }

  /// Returns the next lines for one transaction; none at the end.
  private func batch(
    of input: inout JobInput, _ parser: ImportParser
  ) async throws(Failure) -> [ImportLine] {
    var texts: [(line: LineSplitter.Line, end: InputPosition)] = []
    var bytes = 0
    let context = context
    while texts.count < Self.batch, bytes < Self.batchBytes {
      let before = input.position.bytes
      guard let line = try await input.next(context) else { break }
      texts.append((line, input.position))
      bytes += input.position.bytes - before
    }
    guard !texts.isEmpty else { return [] }
    let lines = try await context.calculate(on: bytes) { [texts] () throws(Failure) in
      texts.compactMap { line, end in
        parser.content(of: line).map { ImportLine(number: end.lines, content: $0, end: end) }
      }
    }
    // A batch of blank lines is not the end.
    return lines.isEmpty ? try await batch(of: &input, parser) : lines
  }
}
