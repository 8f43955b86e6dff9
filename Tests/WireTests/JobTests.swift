import Administration
import EventLoop
import HTTP
import JSON
import Postgres
import Runtime
import TestSupport
import Testing

@testable import Transfer

/// Tests jobs in deployments of their own, whose workers run only when a test says so.
@Suite(.serialized) struct JobTests {
  init() { LoopThread.start() }

  /// An app with users of a job, and a worker.
  @EventLoop private struct Place {
    let world: TestService
    let cast: Fixtures
    let users: [String]

    init(users count: Int, in world: TestService? = nil) async throws {
      let world = if let world { world } else { try await TestService() }
      self.world = world
      cast = try await world.cast()
      let rows = try await world.script(
        """
        insert into users (user_id, app_id, anonymous, name)
        select new_object_id(), app_id, true, 'Job' from apps, generate_series(1, \(count))
        where apps.name = '\(cast.app)' returning user_id
        """)
      users = rows.compactMap { $0.first.flatMap(\.self) }
    }

    func send(
      _ method: HTTP.Method, _ path: String, _ body: String? = nil
    ) async -> TestResponse {
      await world.ask(cast.asOperator(method, path, body))
    }

    func start(_ body: String) async throws -> String {
      let made = await send(.post, "/v1/jobs", body)
      #expect(made.status == 201, "\(made)")
      return try made.string("id")
    }

    /// A job that blocks all users.
    func block() async throws -> String {
      let list = users.map { "\"\($0)\"" }.joined(separator: ",")
      return try await start(#"{"kind":"bulk","action":"block","users":[\#(list)]}"#)
    }

    func job(_ id: String) async -> JSON { await send(.get, "/v1/jobs/\(id)").json }

    func results(_ id: String) async -> [JSON] {
      let response = await send(.get, "/v1/jobs/\(id)/results").response
      var text = response.body
      while let part = await response.stream?.next() { text += part }
      #expect(text.count == response.stream?.length)
      return text.split(separator: UInt8(ascii: "\n")).compactMap { try? JSON.parse(Array($0)) }
    }

    func events(_ action: String) async throws -> Int {
      try await world.number(
        """
        select count(*) from audit a join apps p using (app_id)
        where p.name = '\(cast.app)' and action = '\(action)'
        """)
    }

    func upload(_ text: String, to id: String, part: Int = 1) async -> TestResponse {
      var upload = cast.asOperator(.put, "/v1/jobs/\(id)/input/\(part)")
      upload.body = Array(text.utf8)
      upload.fields[.contentType] = MediaType.octets.rawValue
      return await world.ask(upload)
    }

    /// Ends the claims, as after the death of their workers.
    func endClaims() async throws {
      try await world.script("update jobs set claimed_until = now()")
    }
  }

  @Test @EventLoop func `several workers change each user once`() async throws {
    let world = try await TestService()
    var places: [Place] = []
    for _ in 0..<3 { places.append(try await Place(users: 20, in: world)) }
    var jobs: [String] = []
    for place in places { jobs.append(try await place.block()) }
    let tasks = (0..<6).map { _ in
      let worker = world.jobWorker()
      return EventLoop.task { while await worker.runNext() {} }
    }
    for task in tasks { await task.value }
    for (place, job) in zip(places, jobs) {
      #expect(await place.job(job)["state"] == "done")
      #expect(await place.job(job)["counts"] == ["done": 20])
      #expect(try await place.events("user_block") == 20)
      #expect(try await place.events("job_start") == 1)
      #expect(try await place.events("job_end") == 1)
      let results = await place.results(job)
      #expect(Set(results.compactMap { $0["id"]?.string }) == Set(place.users))
      #expect(results.allSatisfy { $0["outcome"] == "done" })
    }
  }

  @Test @EventLoop func `a worker without its claim writes nothing`() async throws {
    let place = try await Place(users: 2)
    let id = try await place.block()
    let context = try await place.world.context(of: place.cast.app)
    let lease = JobWorker.lease
    func claim() async throws -> Job {
      try #require(
        try await context.write(
          JobQueries.claim, JobID(trusted: id), lease, ServerTime()
        ).first)
    }
    let first = try await claim()
    #expect(try await context.write(JobQueries.claim, first.id, lease, ServerTime()).isEmpty)
    try await place.endClaims()
    let second = try await claim()
    let principal = Principal(.operator, in: context.app.id, scopes: .everything)
    let lost = JobRun(first, context.app, principal, context.dependencies)
    await #expect { try await lost.changeUsers() } throws: {
      ($0 as? Failure)?.is(.preconditionFailed) == true
    }
    let run = JobRun(second, context.app, principal, context.dependencies)
    try await run.changeUsers()
    try await run.end(.done)
    #expect(try await place.events("user_block") == 2)
    #expect(await place.job(id)["counts"] == ["done": 2])
  }

  @Test @EventLoop func `a job goes on after its worker, and fails after five`() async throws {
    let place = try await Place(users: 2)
    let id = try await place.block()
    let worker = place.world.jobWorker()
    try await place.world.script("update jobs set tries = 4")
    #expect(await worker.runNext())
    #expect(await place.job(id)["state"] == "done")
    let other = try await place.start(
      #"{"kind":"bulk","action":"unblock","users":["\#(place.users[0])"]}"#)
    try await place.world.script("update jobs set tries = 5")
    #expect(await worker.runNext())
    #expect(await place.job(other)["state"] == "failed")
    #expect(await place.job(other)["error"] == "job_abandoned")
    #expect(try await place.events("user_unblock") == 0)
  }

  @Test @EventLoop func `each action changes a user, and reports what it cannot change`()
    async throws
  {
    let place = try await Place(users: 2)
    let other = try await Place(users: 1, in: place.world)
    let made = await place.send(.post, "/v1/roles", #"{"name":"Editor"}"#)
    let role = try made.string("id")
    let worker = place.world.jobWorker()
    let users = #""users":["\#(place.users[0])","\#(other.users[0])"]"#
    for (action, event) in [
      ("block", "user_block"), ("unblock", "user_unblock"), ("end_sessions", nil),
      ("add_role", "user_roles_change"), ("remove_role", "user_roles_change"),
      ("delete", "user_delete"),
    ] {
      let needed = action.hasSuffix("role") ? #","role":"\#(role)""# : ""
      let id = try await place.start(#"{"kind":"bulk","action":"\#(action)",\#(users)\#(needed)}"#)
      #expect(await worker.runNext())
      let results = await place.results(id)
      let own = results.first { $0["id"]?.string == place.users[0] }
      #expect(own?["outcome"] == "done", "\(action): \(results)")
      // A user of another app does not belong to this one.
      let foreign = results.first { $0["id"]?.string == other.users[0] }
      #expect(foreign?["error"] == "not_found", "\(action): \(results)")
      #expect(foreign?["outcome"] == (action == "delete" ? "skipped" : "failed"))
      if let event { #expect(try await place.events(event) > 0, "\(action)") }
    }
    #expect(try await other.events("user_delete") == 0)
  }

  @Test @EventLoop func `a job is stopped, and then removed with its parts`() async throws {
    let place = try await Place(users: 3)
    let id = try await place.block()
    let again = await place.send(
      .post, "/v1/jobs", #"{"kind":"bulk","action":"block","users":["\#(place.users[0])"]}"#)
    #expect(again.status == 409)
    #expect(again.code == "job_running")
    #expect(await place.send(.delete, "/v1/jobs/\(id)").status == 204)
    #expect(await place.job(id)["state"] == "stopped")
    #expect(await !place.world.jobWorker().runNext())
    #expect(try await place.world.number("select count(*) from job_parts") == 1)
    #expect(await place.send(.delete, "/v1/jobs/\(id)").status == 204)
    #expect(await place.send(.get, "/v1/jobs/\(id)").status == 404)
    #expect(try await place.world.number("select count(*) from job_parts") == 0)
    #expect(try await place.events("job_stop") == 1)
    #expect(try await place.events("job_remove") == 1)
  }

  @Test @EventLoop func `an import is checked, and then goes on where it stopped`() async throws {
    let place = try await Place(users: 0)
    let lines = (1...120).map { #"{"email":"job-\#($0)@example.com"}"# } + ["{", lines0]
    let text = lines.joined(separator: "\n")
    let id = try await place.start(#"{"kind":"import","format":"dossier","existing":"skip"}"#)
    let cut = text.utf8.count / 2
    let bytes = Array(text.utf8)
    // A line may go on in the next part.
    for (index, part) in [bytes[..<cut], bytes[cut...]].enumerated() {
      let sent = await place.upload(
        String(decoding: part, as: UTF8.self), to: id, part: index + 1)
      #expect(sent.status == 200, "\(sent)")
    }
    #expect(await place.upload("{}", to: id, part: 9).code == "validation_failed")
    let early = await place.send(.post, "/v1/jobs/\(id)/start", #"{"dry_run":false}"#)
    #expect(early.code == "job_state")
    let dry = await place.send(.post, "/v1/jobs/\(id)/start", #"{"dry_run":true}"#)
    #expect(dry.status == 202)
    let worker = place.world.jobWorker()
    #expect(await worker.runNext())
    let checked = await place.job(id)
    #expect(checked["state"] == "checked")
    let counts: JSON = ["rows": 122, "created": 120, "updated": 0, "skipped": 1, "failed": 1]
    #expect(checked["counts"] == counts)
    #expect(checked["errors"]?.array?.first?["line"] == 121)
    #expect(
      try await place.world.number("select count(*) from users where email like 'job-%'") == 0)
    let started = await place.send(.post, "/v1/jobs/\(id)/start", #"{"dry_run":false}"#)
    #expect(started.status == 202)
    // Another worker has written a batch, and died before it stored the results here.
    try await interrupt(id, place)
    #expect(await worker.runNext())
    let done = await place.job(id)
    #expect(done["state"] == "done")
    #expect(done["counts"] == counts)
    #expect(await place.results(id).compactMap { $0["line"]?.number?.int } == Array(1...122))
    #expect(
      try await place.world.number("select count(*) from users where email like 'job-%'") == 120)
    #expect(try await place.events("user_import") == 120)
  }

  private var lines0: String { #"{"email":"job-1@example.com"}"# }

  /// Writes the first 50 lines of an import, without the progress of its job.
  @EventLoop private func interrupt(_ id: String, _ place: Place) async throws {
    let context = try await place.world.context(of: place.cast.app)
    context.principal = Principal(.operator, in: context.app.id, scopes: .everything)
    let work = try await UserImport.open("job \(id)", .skip, isResumed: true, context)
    let parser = try await ImportParser(nil, for: context.app, context)
    var input = JobInput(of: JobID(trusted: id))
    var lines: [ImportLine] = []
    while lines.count < 50, let line = try await input.next(context) {
      let content = try #require(parser.content(of: line))
      lines.append(
        ImportLine(number: input.position.lines, content: content, end: input.position))
    }
    var rest = lines[...]
    _ = try await work.write(&rest)
  }

  @Test @EventLoop func `an export has the chosen users, and ten an hour are allowed`()
    async throws
  {
    let place = try await Place(users: 70)
    let worker = place.world.jobWorker()
    let all = try await place.start(#"{"kind":"export"}"#)
    #expect(await worker.runNext())
    let exported = Set(await place.results(all).compactMap { $0["id"]?.string })
    #expect(exported.isSuperset(of: place.users))
    let some = try await place.start(#"{"kind":"export","filter":"name = \"Job\""}"#)
    #expect(await worker.runNext())
    #expect(await place.job(some)["total"] == 70)
    #expect(await Set(place.results(some).compactMap { $0["id"]?.string }) == Set(place.users))
    let administrator = Administrator(
      UserID(), .admin, apps: nil, networks: [], isRecent: true)
    for number in 1...11 {
      let made = await place.world.ask(
        place.cast.question(.post, "/v1/jobs", #"{"kind":"export"}"#), by: administrator)
      #expect(made.status == (number < 11 ? 201 : 429), "\(made)")
      guard number < 11 else { return #expect(made.code == "too_many_attempts") }
      // This administrator does not exist any more.
      #expect(await worker.runNext())
      #expect(await place.job(try made.string("id"))["error"] == "role_insufficient")
    }
  }

  @Test @EventLoop func `a filter may match 10,000 users`() async throws {
    let place = try await Place(users: 10_000)
    let body = #"{"kind":"bulk","action":"end_sessions","filter":"name = \"Job\""}"#
    let id = try await place.start(body)
    #expect(await place.job(id)["total"] == 10_000)
    #expect(await place.send(.delete, "/v1/jobs/\(id)").status == 204)
    try await place.world.script(
      """
      insert into users (user_id, app_id, anonymous, name)
      select new_object_id(), app_id, true, 'Job' from apps where name = '\(place.cast.app)'
      """)
    let refused = await place.send(.post, "/v1/jobs", body)
    #expect(refused.status == 422)
    #expect(refused.code == "too_many_matches")
  }

  @Test(
    arguments: [
      (#"{"kind":"bulk","action":"block"}"#, "/filter"),
      (#"{"kind":"bulk","action":"shout","filter":"x"}"#, "/action"),
      (#"{"kind":"bulk","action":"add_role","filter":"x"}"#, "/role"),
      (#"{"kind":"bulk","action":"block","users":[]}"#, "/users"),
      (#"{"kind":"bulk","action":"block","users":["x"]}"#, "/users"),
      (#"{"kind":"export","users":["5eed00000000000000000001"],"filter":"x"}"#, "/filter"),
      (#"{"kind":"import"}"#, "/format"),
      (#"{"kind":"import","format":"dossier","existing":"maybe"}"#, "/existing"),
      (#"{"kind":"export","format":"dossier"}"#, "/format"),
      (#"{"kind":"party"}"#, "/kind"),
    ])
  @EventLoop func `a malformed job is refused`(_ body: String, _ pointer: String) async throws {
    let cast = try await TestService.shared.value.get().foreigners()
    let reply = await cast.world.ask(cast.asOperator(.post, "/v1/jobs", body))
    #expect(reply.status == 422, "\(reply)")
    let pointers = reply.json["errors"]?.array?.compactMap { $0["pointer"]?.string } ?? []
    #expect(pointers.contains(pointer), "\(reply)")
  }
}
