import Documents
package import EventLoop
import JSON
import Permissions
import Postgres
import RateLimiting
package import Runtime
import Tenancy

/// The administration of jobs.
@EventLoop package enum Jobs {
  /// The most users of a job that changes them, or exports some of them.
  package nonisolated static let mostUsers = 10_000
  /// The longest part of an upload, in bytes.
  package nonisolated static let uploadLimit = 8_388_608
  /// The longest input, in bytes.
  package nonisolated static let inputLimit = 104_857_600
  /// The most parts of an upload.
  package nonisolated static let mostUploads = 100
  /// The number and the bytes of jobs at which an app cannot start another.
  nonisolated static let space = (jobs: 1_000, bytes: 1_073_741_824)

  /// The users of a job.
  package enum Selection: Sendable {
    case all
    case filter(String)
    case users([UserID])
  }

  /// The work of a job.
  package enum Plan: Sendable {
    case bulk(BulkAction, role: RoleID?, Selection)
    case export(Selection)
    case `import`(ImportFormat, existing: String, issuer: String?, areEmailsVerified: Bool)

    fileprivate var kind: Job.Kind {
      switch self {
      case .bulk: .bulk
      case .export: .export
      case .import: .import
      }
    }

    fileprivate var selection: Selection? {
      switch self {
      case .bulk(_, _, let selection), .export(let selection): selection
      case .import: nil
      }
    }

    fileprivate var parameters: JSONObject {
      var members = JSONObject()
      switch self {
      case .bulk(let action, let role, _):
        members["action"] = .string(action.rawValue)
        if action.needsRole { members["role"] = role.map { .string($0.text) } }
      case .export: break
      case .import(let format, let existing, let issuer, let areEmailsVerified):
        members["format"] = .string(format.rawValue)
        if format != .appServicesDocuments { members["existing"] = .string(existing) }
        if let issuer { members["issuer"] = .string(issuer) }
        if areEmailsVerified { members["verified_emails"] = true }
      }
      switch selection {
      case .filter(let filter): members["filter"] = .string(filter)
      case .users(let users): members["users"] = .number(JSONNumber(users.count))
      case .all, nil: break
      }
      return members
    }
  }

  // MARK: Start

  /// Starts a job; an import then takes its input.
  ///
  /// - Throws: `.jobRunning`, `.tooManyMatches`, `.jobSpaceFull`, `.roleNotFound`,
  ///   `.tooManyAttempts`, errors of the filter, `.databaseUnavailable`.
  package static func start(_ plan: Plan, _ context: RequestContext) async throws(Failure) -> Job {
    if case .bulk(_, let role?, _) = plan {
      _ = try await RoleRecord.table.find(role.text, of: context.app.id, context)
    }
    var progress = JobProgress()
    switch plan.selection {
    case .filter(let text):
      let total = try await UserSearch.total(of: Filter(text), context)
      guard total.precision == .exact, total.count <= mostUsers else { throw .tooManyMatches }
      progress.total = total.count
    case .users(let users):
      (progress.total, progress.isCollected) = (users.count, true)
    case .all, nil: break
    }
    if plan.kind == .export { try await countExport(context) }
    try await requireSpace(context)
    let id = JobID()
    let parts = JobParts(job: id)
    var input: [(name: String, sealed: BinaryBytes)] = []
    if case .users(let users)? = plan.selection {
      input = try await parts.sealed(
        JobInput.bytes(of: users), named: { JobParts.name(ofUpload: 1, $0) }, context)
    }
    progress.person = context.principal.person
    let administrator = context.principal.administrator?.id
    let state = plan.kind == .import ? Job.State.open : .running
    return try await context.transaction { [input, progress] transaction async throws(Failure) in
      let inserted = transaction.send(
        JobQueries.insert, id, context.app.id, administrator, plan.kind.rawValue, state.rawValue,
        TextBytes(JSON.object(plan.parameters).serialized()),
        TextBytes(progress.json.serialized()))
      let job = try await inserted.rows(duplicate: .jobRunning).first.orUnforeseen("a job")
      parts.send(input, in: transaction)
      if state == .running { record("job_start", job, in: transaction) }
      return job
    }
  }

  /// Counts an export of an administrator, in all apps.
  ///
  /// - Throws: `.tooManyAttempts` after ten in an hour, `.databaseUnavailable`.
  package static func countExport(_ context: RequestContext) async throws(Failure) {
    guard let administrator = context.principal.administrator else { return }
    let operators = RequestContext(
      context.dependencies, app: try await context.apps.operators(), principal: context.principal)
    operators.owner = context.owner
    let limit = RateLimit(
      "export", of: [administrator.id.text], burst: 10, in: .seconds(3_600), context.keys.master)
    try await RateLimitSet([limit], operators).spend()
  }

  private static func requireSpace(_ context: RequestContext) async throws(Failure) {
    let rows = try await context.read(JobQueries.space, context.app.id, on: .exclusive)
    let used = try rows.first.orUnforeseen("the jobs of an app")
    guard used.jobs < space.jobs, used.bytes < space.bytes else { throw .jobSpaceFull }
  }

  static func record(_ action: String, _ job: Job, in transaction: Transaction) {
    var detail = job.parameters.members
    detail["job"] = .string(job.id.text)
    detail["kind"] = .string(job.kind.rawValue)
    if let total = job.progress.total, job.kind != .import {
      detail["count"] = .number(JSONNumber(total))
    }
    if job.progress.isDry { detail["dry_run"] = true }
    Event(action, detail: .object(detail)).record(in: transaction)
  }

  // MARK: The input of an import

  /// Stores a part of the input, or replaces it; then the import needs a dry run again.
  ///
  /// - Parameters:
  ///   - bytes: the bytes; lines may go on in the next part.
  ///   - number: from 1 to one more than the parts so far.
  ///   - id: the job.
  ///   - context: the context of the request.
  /// - Returns: the job.
  /// - Throws: `.notFound`, `.jobState`, `.invalid`, `.jobInputTooLarge`, `.jobSpaceFull`,
  ///   `.overloaded`, `.databaseUnavailable`.
  package static func upload(
    _ bytes: [UInt8], as number: Int, to id: JobID, _ context: RequestContext
  ) async throws(Failure) -> Job {
    guard (1...mostUploads).contains(number) else { throw partFault }
    try await requireSpace(context)
    let parts = JobParts(job: id)
    let sealed = try await parts.sealed(
      bytes, named: { JobParts.name(ofUpload: number, $0) }, context)
    return try await context.transaction { transaction async throws(Failure) in
      let job = try await lock(id, in: transaction)
      guard job.kind == .import, job.state == .open || job.state == .checked else {
        throw .jobState("The job takes no input.")
      }
      guard number <= job.inputParts + 1 else { throw partFault }
      let start = JobParts.start(ofUpload: number)
      let removed = try await transaction.run(
        JobPartQueries.removeUpload, id, start, start + "~")
      let added = bytes.count - removed.reduce(0) { $0 + $1 - JobParts.overhead }
      guard job.inputBytes + added <= inputLimit else {
        throw .jobInputTooLarge(limit: inputLimit)
      }
      parts.send(sealed, in: transaction)
      return try await transaction.run(JobQueries.addInput, id, number, added).first
        .orUnforeseen("a job")
    }
  }

  private static var partFault: Failure {
    .invalid([
      FieldError(
        "/number", "part",
        "The number must be from 1 to \(mostUploads), and at most one more than the parts so far.")
    ])
  }

  /// Starts an import that has its input: a dry run, or after one the import itself.
  ///
  /// - Throws: `.notFound`, `.jobState`, `.jobRunning`, `.databaseUnavailable`.
  package static func run(
    _ id: JobID, isDry: Bool, _ context: RequestContext
  ) async throws(Failure) -> Job {
    try await context.transaction { transaction async throws(Failure) in
      let job = try await lock(id, in: transaction)
      guard job.kind == .import, job.inputParts > 0, job.state == .checked || job.state == .open
      else { throw .jobState("Only an import that has its input can be started.") }
      guard isDry || job.state == .checked else {
        throw .jobState("The import needs a dry run of this input first.")
      }
      var progress = JobProgress()
      (progress.isDry, progress.total) = (isDry, job.inputBytes)
      progress.person = context.principal.person
      let sent = transaction.send(
        JobQueries.start, id, TextBytes(progress.json.serialized()),
        context.principal.administrator?.id)
      let started = try await sent.rows(duplicate: .jobRunning).first.orUnforeseen("a job")
      record("job_start", started, in: transaction)
      return started
    }
  }

  private static func lock(_ id: JobID, in transaction: Transaction) async throws(Failure) -> Job {
    let found = try await transaction.run(JobQueries.lock, id, transaction.app.id)
    guard let job = found.first else { throw .notFound }
    return job
  }

  // MARK: Look and stop

  /// Returns a page of the jobs of the app, the newest first.
  ///
  /// - Throws: `.databaseUnavailable`.
  package static func page(
    after cursor: JobID?, count: Int, _ context: RequestContext
  ) async throws(Failure) -> Page<Job> {
    let jobs = try await context.read(
      JobQueries.page, context.app.id, cursor, count, on: .exclusive)
    return Page(jobs, of: count)
  }

  /// - Throws: `.notFound`, `.databaseUnavailable`.
  package static func find(_ id: JobID, _ context: RequestContext) async throws(Failure) -> Job {
    let found = try await context.read(JobQueries.find, id, context.app.id, on: .exclusive)
    guard let job = found.first else { throw .notFound }
    return job
  }

  /// Stops a job that runs, which keeps its results, or removes another one with its parts.
  ///
  /// - Throws: `.notFound`, `.databaseUnavailable`.
  package static func end(_ id: JobID, _ context: RequestContext) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      let job = try await lock(id, in: transaction)
      guard job.state != .running else {
        let stopped = try await transaction.run(JobQueries.stop, id).first.orUnforeseen("a job")
        return record("job_stop", stopped, in: transaction)
      }
      _ = transaction.send(JobPartQueries.remove, id)
      _ = transaction.send(JobQueries.remove, id)
      record("job_remove", job, in: transaction)
    }
  }

  /// Returns the results of a job so far: outcomes, or the exported users.
  ///
  /// - Throws: `.notFound`, `.jobResultsExpired`, `.databaseUnavailable`.
  package static func results(
    of id: JobID, _ context: RequestContext
  ) async throws(Failure) -> JobResults {
    let job = try await find(id, context)
    if job.progress.resultParts > 0 {
      let name = JobParts.name(ofResult: 1)
      let first = try await context.read(JobPartQueries.find, id, name, on: .exclusive)
      guard !first.isEmpty else { throw .jobResultsExpired }
    }
    if job.kind == .export { try await note(download: job, context) }
    return JobResults(job, context.dependencies)
  }

  private static func note(download job: Job, _ context: RequestContext) async throws(Failure) {
    try await context.transaction { transaction async throws(Failure) in
      record("job_download", job, in: transaction)
    }
  }
}

/// The results of a job, part by part.
@EventLoop package final class JobResults {
  /// The length of all, in bytes.
  package let length: Int
  private let job: Job
  private let dependencies: Dependencies
  private var place = 1

  fileprivate init(_ job: Job, _ dependencies: Dependencies) {
    (self.job, self.dependencies) = (job, dependencies)
    length = job.progress.resultBytes + job.progress.tail.utf8.count
  }

  /// Returns the next bytes; nil at the end, or if they cannot be read.
  package func next() async -> [UInt8]? {
    defer { place += 1 }
    let (parts, tail) = (job.progress.resultParts, job.progress.tail)
    guard place <= parts else {
      return place == parts + 1 && !tail.isEmpty ? Array(tail.utf8) : nil
    }
    let name = JobParts.name(ofResult: place)
    let found = try? await RequestContext(dependencies).read(
      JobPartQueries.find, job.id, name, on: .exclusive)
    return try? found?.first?.opened(of: job.id, by: dependencies.keys.master)
  }
}

extension Failure {
  package static let jobRunning = Failure("job_running", .conflict)
    .titled("Another job of the app is running.")
    .remedied("Wait until it has ended, or stop it: dossier job stop.")
  package static let jobState = Failure("job_state", .conflict)
    .titled("The state of the job does not allow this.")
    .remedied("Read the job: dossier job show.")
  package static let jobSpaceFull = Failure("job_space_full", .conflict)
    .titled("The app keeps too many jobs, or too much of their input and results.")
    .remedied("Remove old jobs: dossier job delete. After 7 days, input and results are deleted.")
  package static let jobInputTooLarge = Failure("job_input_too_large", .tooLarge)
    .titled("The input of the job is too large.")
    .remedied("Import a larger file by the command line: dossier user import.")
  package static let jobResultsExpired = Failure("job_results_expired", .gone)
    .titled("The results of the job were deleted, as after 7 days.")
    .remedied("Start the job again.")
  package static let tooManyMatches = Failure("too_many_matches", .invalid)
    .titled("More than 10,000 users match the filter.")
    .remedied("Narrow the filter, and start a job for each part of the users.")
}
