import Declarations
import Documents
import EventLoop
import HTTP
import JSON
import Permissions
import Runtime
import Tenancy
import Transfer
import WireKit

/// `/v1/jobs`, for the operator and administrators.
@EventLoop enum JobResource {
  nonisolated static let operations: [Operation] = [
    Operation(
      .get, "/v1/jobs", access: .operator, takes: .query(.limit, .jobCursor),
      gives: [.ok(.list(of: job, atMost: PageLimit.most))],
      summary: "List the jobs of an app, the newest first"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      let query = try ListQuery(call.request.query)
      let page = try await Jobs.page(after: query.cursor(), count: query.limit, call.context)
      return query.response(page, call, \.json)
    }.needing(.admin),
    Operation(
      .post,
      "/v1/jobs",
      access: .operator,
      takes: .body(.json(limit: 524_288), newJob),
      gives: [.created(job.shown(as: Example.newJob), "The job.", fields: [.location])],
      refuses: [
        .jobRunning, .jobSpaceFull, .tooManyMatches, .roleNotFound, .tooManyAttempts,
        .invalidFilter, .notIndexed, .searchTooSlow,
      ],
      summary: "Start a job: a change of many users, an export, or an import that takes its input"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      let job = try await Jobs.start(plan(call.json), call.context)
      var response = Response(.created, json: job.json.serialized())
      response.add(.location, "/v1/jobs/\(job.id)")
      return response
    }.needing(stepUp: true),
    Operation(
      .get, "/v1/jobs/{job}", access: .operator, gives: [.ok(job)],
      refuses: [.notFound], summary: "Read a job: its state, counts and first errors"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      let job = try await Jobs.find(call.captured("job"), call.context)
      return Response(.ok, json: job.json.serialized())
    }.needing(.admin),
    Operation(
      .put,
      "/v1/jobs/{job}/input/{part}",
      access: .operator,
      takes: .body(.bytes(limit: Jobs.uploadLimit, types: [.octets])),
      gives: [.ok(job.shown(as: Example.openJob))],
      refuses: [.notFound, .invalid, .jobState, .jobSpaceFull, .jobInputTooLarge],
      summary: "Upload a part of the input of an import, in their order from 1"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      guard case .bytes(let bytes) = call.body, !bytes.isEmpty else {
        throw .invalid([FieldError("", "length", "A part must have at least one byte.")])
      }
      let number = Int(call.text("part")) ?? 0
      let job = try await Jobs.upload(bytes, as: number, to: call.captured("job"), call.context)
      return Response(.ok, json: job.json.serialized())
    }.needing(stepUp: true),
    Operation(
      .post,
      "/v1/jobs/{job}/start",
      access: .operator,
      takes: .body(
        .json(limit: 4_096),
        Fields("JobStart", "How to start an import.", isDry)),
      gives: [.accepted(job.shown(as: Example.checkingJob), "The import runs.")],
      refuses: [.notFound, .jobState, .jobRunning],
      summary: "Start an import: a dry run first, then the import itself"
    ) { (call, isDry) async throws(Failure) in
      _ = try call.namedApp
      let job = try await Jobs.run(call.captured("job"), isDry: isDry, call.context)
      return Response(.accepted, json: job.json.serialized())
    }.needing(stepUp: true),
    Operation(
      .delete, "/v1/jobs/{job}", access: .operator, gives: [.noContent], refuses: [.notFound],
      summary: "Stop a job that runs, or remove another one with its input and results"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      try await Jobs.end(call.captured("job"), call.context)
      return Response(.noContent)
    }.needing(stepUp: true),
    Operation(
      .get, "/v1/jobs/{job}/results", access: .operator,
      gives: [
        Answer(
          status: .ok,
          says: "Lines of JSON: id, outcome and error of each user, the results of an import, or "
            + "the exported users.", shape: nil, types: [.octets])
      ],
      refuses: [.notFound, .jobResultsExpired],
      summary: "Download the results of a job so far"
    ) { (call) async throws(Failure) in
      _ = try call.namedApp
      let results = try await Jobs.results(of: call.captured("job"), call.context)
      var response = Response(.ok)
      response.add(.contentType, MediaType.octets.rawValue)
      response.add(.cacheControl, literal: "no-store")
      response.stream = ResponseStream(length: results.length) { await results.next() }
      return response
    }.needing(.admin, stepUp: true),
  ]

  // MARK: A new job

  /// The members of each kind of job.
  private static let members: [Job.Kind: [String]] = [
    .bulk: ["action", "role", "filter", "users"], .export: ["filter", "users"],
    .import: ["format", "existing", "issuer", "verified_emails"],
  ]

  /// - Throws: `.invalid` with all errors.
  private static func plan(_ body: JSON) throws(Failure) -> Jobs.Plan {
    let kind = body["kind"]?.string.flatMap(Job.Kind.init)
    let known = kind.flatMap { members[$0] } ?? members.values.flatMap(\.self)
    var reader = try MemberReader(body, known: ["kind"] + known)
    guard let kind else {
      if reader.has("kind") {
        reader.refuse("kind", "choice", "The kind must be bulk, export or import.")
      } else {
        _ = reader.string("kind")
      }
      try reader.check()
      throw .invalid
    }
    let plan: Jobs.Plan
    switch kind {
    case .bulk:
      let action = choice("action", of: BulkAction.self, &reader) ?? .block
      var role: RoleID?
      if action.needsRole { role = reader.id("role") }
      let selection = selection(&reader)
      if case .all = selection {
        reader.refuse("filter", "missing", "The job needs a filter, or a list of users.")
      }
      plan = .bulk(action, role: role, selection)
    case .export: plan = .export(selection(&reader))
    case .import:
      let format = choice("format", of: ImportFormat.self, &reader) ?? .dossier
      let existing = reader.has("existing") ? reader.string("existing") : ExistingUser.names[0]
      if !ExistingUser.names.contains(where: existing.hasSameBytes) {
        reader.refuse("existing", "choice", "existing must be fail, skip or update.")
      }
      let issuer = reader.has("issuer") ? reader.string("issuer") : nil
      if let issuer, !(1...2_048).contains(issuer.utf8.count) {
        reader.refuse("issuer", "length", "The issuer must have 1 to 2,048 bytes.")
      }
      let areVerified = reader.has("verified_emails") && reader.flag("verified_emails")
      plan = .import(
        format, existing: existing, issuer: issuer, areEmailsVerified: areVerified)
    }
    try reader.check()
    return plan
  }

  private static func choice<Choice: CaseIterable & RawRepresentable<String>>(
    _ name: String, of _: Choice.Type, _ reader: inout MemberReader
  ) -> Choice? {
    let text = reader.string(name)
    if let choice = Choice.allCases.first(where: { $0.rawValue.hasSameBytes(as: text) }) {
      return choice
    }
    let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
    reader.refuse(name, "choice", "\(name) must be one of \(all).")
    return nil
  }

  private static func selection(_ reader: inout MemberReader) -> Jobs.Selection {
    guard reader.has("users") else {
      return reader.has("filter") ? .filter(reader.string("filter")) : .all
    }
    if reader.has("filter") {
      reader.refuse("filter", "unexpected", "Give a filter or a list of users, not both.")
    }
    let texts = reader.strings("users")
    let ids = texts.compactMap { UserID($0) }
    if ids.count < texts.count {
      reader.refuse("users", "id", "An id must have 24 hexadecimal characters.")
    }
    if !(1...Jobs.mostUsers).contains(texts.count) {
      reader.refuse("users", "length", "A job has 1 to \(Jobs.mostUsers) users.")
    }
    return .users(Array(Set(ids)).sorted { $0.text < $1.text })
  }

  // MARK: Shapes

  private nonisolated static let isDry = Field<Bool>(
    "dry_run", .flag.saying("whether the run writes nothing, and only reports").like(true)
  ) { $0.flag($1) }

  private nonisolated static let newJob = Shape.object(
    members: [(key: "kind", value: .choice(Job.Kind.allCases.map(\.rawValue)))],
    optional: [
      (key: "action", value: action), (key: "role", value: role),
      (key: "filter", value: filter),
      (
        key: "users",
        value: .list(of: .id(Example.ada), atMost: Jobs.mostUsers).saying("the ids of the users")
      ),
      (key: "format", value: format), (key: "existing", value: existing),
      (key: "issuer", value: issuer), (key: "verified_emails", value: areVerified),
    ], isClosed: true
  ).named("NewJob", "A job to start. Each kind has its own members.")
    .like(["kind": "import", "format": "dossier"])

  private nonisolated static let action = Shape.choice(BulkAction.allCases.map(\.rawValue))
    .saying("what a bulk job does to each user").like("block")
  private nonisolated static let role = Shape.id(Example.role)
    .saying("the role that add_role and remove_role are about")
  private nonisolated static let filter = Shape.text
    .saying("the users, in the language of GET /v1/users").like("email_domain = \"example.org\"")
  private nonisolated static let format = Shape.choice(ImportFormat.allCases.map(\.rawValue))
    .saying("the format of the lines of an import").like("dossier")
  private nonisolated static let existing = Shape.choice(ExistingUser.names)
    .saying("what an import does with a line of a user that exists").like("skip")
  private nonisolated static let issuer = Shape.text
    .saying("with app-services: the iss of custom-token users").like("https://issuer.example")
  private nonisolated static let areVerified = Shape.flag
    .saying("with app-services: whether users have verified their addresses").like(false)

  private nonisolated static let job = Shape.object(
    [
      "id": .id(Example.job), "kind": .choice(Job.Kind.allCases.map(\.rawValue)),
      "state": .choice(Job.State.allCases.map(\.rawValue)),
      "administrator": .id(Example.administrator).orNull
        .saying("who has started it; null for the operator"),
      "total": .count.orNull.saying("users, or bytes of the input; null if it is not known"),
      "done": .count.saying("how much of the total is done"),
      "counts": .map(of: .count).saying("the numbers of users or lines by outcome"),
      "errors": .list(of: .members, atMost: 100).saying("the first errors"),
      "result_bytes": .count.saying("the length of the results so far"),
      "error": .text.orNull.saying("the code of the error that ended the job"),
      "created_at": .time(Example.played),
      "started_at": .time.orNull.saying("when a worker began it; null before"),
      "ended_at": .time.orNull.saying("when it ended; null before"),
    ],
    optional: [
      "action": action, "role": role, "filter": filter,
      "users": .count.saying("how many users were named by their ids"), "format": format,
      "existing": existing, "issuer": issuer, "verified_emails": areVerified,
      "dry_run": .flag.saying("whether the last run of an import was a dry run"),
      "input_parts": .count.saying("how many parts of its input an import has"),
      "input_bytes": .count.saying("the length of the input of an import"),
    ]
  ).named("Job", "Work on many users, which a worker does beside requests.")
    .like(Example.doneJob)
}

extension QueryParameter {
  fileprivate static let jobCursor = QueryParameter(
    name: cursor.name, says: cursor.says, shape: .id(Example.job), component: "job_cursor")
}

extension Example {
  private static func job(_ members: JSONObject) -> JSON {
    var all = JSONObject([
      ("id", .string(job)), ("kind", "bulk"), ("state", "running"), ("administrator", .null),
      ("total", 1), ("done", 0), ("counts", [:]), ("errors", []), ("result_bytes", 0),
      ("error", .null), ("created_at", .string(played)), ("started_at", .null),
      ("ended_at", .null),
    ])
    for (name, value) in members { all[String(name)] = value }
    return .object(all)
  }

  fileprivate static let doneJob = job(
    JSONObject([
      ("action", "block"), ("users", 1), ("state", "done"), ("done", 1),
      ("counts", ["done": 1]), ("result_bytes", 59), ("started_at", .string(played)),
      ("ended_at", .string(played)),
    ]))

  private static func importJob(
    _ state: JSON, isDry: Bool, _ total: JSON, parts: JSON, bytes: JSON
  ) -> JSON {
    job(
      JSONObject([
        ("kind", "import"), ("state", state), ("total", total), ("format", "dossier"),
        ("existing", "fail"), ("dry_run", .bool(isDry)), ("input_parts", parts),
        ("input_bytes", bytes),
      ]))
  }

  fileprivate static let newJob = importJob("open", isDry: false, .null, parts: 0, bytes: 0)
  fileprivate static let openJob = importJob("open", isDry: false, .null, parts: 1, bytes: 34)
  fileprivate static let checkingJob = importJob(
    "running", isDry: true, 34, parts: 1, bytes: 34)
}
