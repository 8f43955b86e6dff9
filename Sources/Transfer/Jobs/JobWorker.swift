import Administration
package import EventLoop
import JSON
import Postgres
import Records
package import Runtime
import Tenancy

/// Runs the jobs of administrators, one at a time in each worker.
///
/// A worker claims a job by comparing, and renews its claim with each step. After a worker has
/// died, another one continues. A job waits for each of its statements on one connection, so it
/// takes little from requests.
@EventLoop package final class JobWorker {
  private let dependencies: Dependencies
  /// Returns the member of App Services' documents with the id of the user.
  private let userField: @EventLoop (App) -> String
  private let report: @EventLoop (String) -> Void

  /// How long a claim lasts after a step: longer than any step but for a database that is away.
  nonisolated static let lease = Duration.seconds(15)
  /// How often a job is claimed without getting on.
  private static let tries = 5
  private static var nap: Duration { .milliseconds(Int.random(in: 1_000...3_000)) }

  /// - Parameters:
  ///   - dependencies: the dependencies of the worker.
  ///   - userField: returns the member of App Services' documents with the id of the user.
  ///   - report: receives lines for the log.
  package init(
    _ dependencies: Dependencies, userField: @escaping @EventLoop (App) -> String,
    report: @escaping @EventLoop (String) -> Void
  ) {
    self.dependencies = dependencies
    self.userField = userField
    self.report = report
  }

  package func start() {
    EventLoop.task { [self] in
      while true {
        if await !runNext() { await EventLoop.sleep(for: Self.nap) }
      }
    }
  }

  /// Claims a job and runs it; returns whether there was one.
  package func runNext() async -> Bool {
    let database = dependencies.database
    guard database.isReady, let due = try? await database.write(JobQueries.due) else {
      return false
    }
    for id in due {
      let claimed = try? await database.write(JobQueries.claim, id, Self.lease, ServerTime())
      guard let job = claimed?.first else { continue }
      await run(job)
      return true
    }
    return false
  }

  private func run(_ job: Job) async {
    do throws(Failure) {
      let run = try await jobRun(job)
      do throws(Failure) {
        guard job.tries <= Self.tries else { throw .jobAbandoned }
        switch job.kind {
        case .bulk: try await run.changeUsers()
        case .export: try await run.exportUsers()
        case .import: try await run.importUsers(userField(run.app))
        }
        try await run.end(job.kind == .import && run.progress.isDry ? .checked : .done)
      } catch let error where error.isOfOneRow {
        report("the job \(job.id) has failed: \(error)")
        try await run.end(.failed, error.type.code)
      }
    } catch .preconditionFailed {
      // It was stopped, or another worker continues it.
    } catch {
      // The claim expires, and a worker tries again.
      report("the job \(job.id) has to wait: \(error)")
    }
  }

  /// Returns the run of a job, on behalf of who has started it.
  ///
  /// - Throws: `.databaseUnavailable`.
  private func jobRun(_ job: Job) async throws(Failure) -> JobRun {
    let context = RequestContext(dependencies)
    let app: App
    do throws(Failure) {
      app = try await context.apps.app(job.app)
    } catch .unknownApp {
      _ = try await context.write(JobQueries.remove, job.id)
      throw .preconditionFailed
    }
    let run = JobRun(job, app, Principal(.system, in: app.id, scopes: .everything), dependencies)
    try await run.findStarter()
    return run
  }
}

/// A claimed job that runs.
@EventLoop final class JobRun {
  let job: Job
  let app: App
  let parts: JobParts
  var progress: JobProgress
  private var principal: Principal
  private let dependencies: Dependencies

  init(_ job: Job, _ app: App, _ principal: Principal, _ dependencies: Dependencies) {
    (self.job, self.app, self.principal) = (job, app, principal)
    self.dependencies = dependencies
    progress = job.progress
    parts = JobParts(job: job.id)
  }

  /// A context for one step, with the time of one request.
  var context: RequestContext { RequestContext(dependencies, app: app, principal: principal) }

  /// Makes the run one of the person who has started the job, or ends it if that is no longer possible.
  ///
  /// - Throws: `.preconditionFailed` if the administrator was deleted or disabled, or has lost the role
  ///   or the app; as `end`.
  func findStarter() async throws(Failure) {
    guard let id = job.administrator else {
      principal = Principal(operator: progress.person, in: app.id)
      return
    }
    var found: Stored<AdministratorRecord>?
    do throws(Failure) {
      found = try await AdministratorRecord.table.find(
        id.text, of: nil, RequestContext(dependencies))
    } catch .notFound {
      // The administrator was deleted.
    }
    guard let found, !found.isDisabled, case let one = found.administrator(isRecent: true),
      one.right >= .admin, one.mayUse(app.id)
    else {
      principal = Principal(.system, in: app.id, scopes: .everything)
      try await end(.failed, Failure.roleInsufficient.type.code)
      throw .preconditionFailed
    }
    principal = Principal(one, in: app.id)
  }

  /// Stores the progress with new results.
  ///
  /// - Parameters:
  ///   - results: the new results.
  ///   - input: parts of the input that the job has made itself.
  /// - Throws: `.preconditionFailed` if the job was stopped or another worker has claimed it.
  func store(
    adding results: [UInt8] = [], input: [(name: String, sealed: BinaryBytes)] = []
  ) async throws(Failure) {
    try await findStarter()
    guard progress.resultBytes < Jobs.space.bytes else { throw .jobSpaceFull }
    let context = context
    let new = try await sealed(results, context) + input
    try await context.transaction { [progress] transaction async throws(Failure) in
      let stored = try await transaction.run(
        JobQueries.advance, job.id, job.claim, TextBytes(progress.json.serialized()),
        JobWorker.lease)
      guard !stored.isEmpty else { throw .preconditionFailed }
      parts.send(new, in: transaction)
    }
  }

  /// Ends the job, and records it.
  ///
  /// - Throws: as `store`.
  func end(_ state: Job.State, _ error: String? = nil) async throws(Failure) {
    let context = context
    let new = try await sealed(takeTail(), context)
    try await context.transaction { [progress] transaction async throws(Failure) in
      let stored = try await transaction.run(
        JobQueries.end, job.id, job.claim, TextBytes(progress.json.serialized()), state.rawValue,
        error)
      guard !stored.isEmpty else { throw .preconditionFailed }
      parts.send(new, in: transaction)
      var detail = JSONObject([
        ("job", .string(job.id.text)), ("kind", .string(job.kind.rawValue)),
        ("state", .string(state.rawValue)), ("counts", .object(progress.counts)),
      ])
      detail["error"] = error.map(JSON.string)
      Event("job_end", detail: .object(detail)).record(in: transaction)
    }
  }

  /// Returns the results that are in no part yet, for the next part.
  func takeTail() -> [UInt8] {
    defer { progress.tail = "" }
    return Array(progress.tail.utf8)
  }

  private func sealed(
    _ results: [UInt8], _ context: RequestContext
  ) async throws(Failure) -> [(name: String, sealed: BinaryBytes)] {
    let before = progress.resultParts
    let new = try await parts.sealed(
      results, named: { JobParts.name(ofResult: before + 1 + $0) }, context)
    progress.resultParts += new.count
    progress.resultBytes += results.count
    return new
  }
}

extension Failure {
  /// Each worker that has run the job has died, or has lost the database.
  package static let jobAbandoned = Failure("job_abandoned", .internal)
    .titled("The job did not get on in several attempts.")
    .remedied("The log of the workers has the cause.")
}
