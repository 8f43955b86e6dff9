import CommandKit
import ArgumentParser
import EventLoop
import HTTP
import JSON
import Transfer

struct JobCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "job",
    abstract: "Jobs: changes of many users, exports and imports, which a worker does.",
    subcommands: [
      Start.self, Run.self, List.self, Show.self, Stop.self, Delete.self, Results.self,
    ]
  )

  private static let columns = ["id", "kind", "state", "done", "total", "created_at", "ended_at"]

  struct Start: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Starts a job.",
      discussion: """
        block, unblock, end_sessions, add_role, remove_role and delete change the users of --filter \
        or --users, at most 10,000, one by one. export writes them, or without both all users of the \
        app, as lines that import reads. import takes the lines of --input, at most 100 MB, and begins \
        a dry run; then `dossier job run JOB` imports them. `dossier user import` does the same at \
        once, for files of any size. An app has one job at a time.
        """)
    @OptionGroup var options: AppOptions
    @OptionGroup var confirmation: Confirmation

    @Option(help: "The users, in the language of dossier user list --filter.")
    var filter: String?

    @Option(help: ArgumentHelp("A file with the id of a user in each line.", valueName: "file"))
    var users: String?

    @Option(
      help: ArgumentHelp("With add_role and remove_role: the id of the role.", valueName: "id"))
    var role: String?

    @Option(help: ArgumentHelp("With import: the file of the lines.", valueName: "file"))
    var input: String?

    @Option(help: "With import: dossier, app-services, app-services-documents or auth0.")
    var format = ImportFormat.dossier

    @Option(help: "With import: fail, skip or update lines of users that exist.")
    var existing: String?

    @OptionGroup var appServices: AppServicesOptions

    @Argument(help: "A change of users, export or import.")
    var work: String

    func validate() throws {
      let works = BulkAction.allCases.map(\.rawValue) + ["export", "import"]
      guard works.contains(where: work.hasSameBytes) else {
        throw ValidationError("The job must be one of \(works.joined(separator: ", ")).")
      }
      guard (work == "import") == (input != nil) else {
        throw ValidationError("--input goes with import, and import needs it.")
      }
    }

    func run() throws {
      options.common.run(isLarge: true) { context async throws(CommandFailure) in
        var body = JSONObject([("kind", .string(work))])
        if BulkAction(rawValue: work) != nil {
          (body["kind"], body["action"]) = ("bulk", .string(work))
        }
        body["filter"] = filter.map(JSON.string)
        if let users { body["users"] = .array(JSONArray(try Self.ids(in: users))) }
        body["role"] = role.map(JSON.string)
        if work == "import" {
          body["format"] = .string(format.rawValue)
          body["existing"] = existing.map(JSON.string)
          body["issuer"] = appServices.issuer.map(JSON.string)
          if appServices.areEmailsVerified { body["verified_emails"] = true }
        }
        if work == BulkAction.delete.rawValue {
          try confirmation.ask("Delete the users of the job?")
        }
        let job = try await context.send(.post, "/v1/jobs", .json(.object(body)), to: options.app)
        guard let input, let id = job["id"]?.string else { return CommandOutput(job) }
        try await upload(input, to: id, context)
        return CommandOutput(
          try await context.send(
            .post, "/v1/jobs/\(id)/start", .json(["dry_run": true]), to: options.app))
      }
    }

    /// Uploads the input, in parts as large as they may be.
    @EventLoop private func upload(
      _ path: String, to job: String, _ context: CommandContext
    ) async throws(CommandFailure) {
      let bytes = try InputFile.read(path, upTo: Jobs.inputLimit)
      for (index, start) in stride(from: 0, to: bytes.count, by: Jobs.uploadLimit).enumerated() {
        let part = Array(bytes[start..<min(start + Jobs.uploadLimit, bytes.count)])
        _ = try await context.send(
          .put, "/v1/jobs/\(job)/input/\(index + 1)", .bytes(part), to: options.app)
      }
    }

    private static func ids(in path: String) throws(CommandFailure) -> [JSON] {
      String(decoding: try InputFile.read(path), as: UTF8.self)
        .split(whereSeparator: \.isWhitespace).map { .string(String($0)) }
    }
  }

  struct Run: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Starts an import after its dry run.")
    @OptionGroup var job: JobArgument

    @Flag(name: .customLong("dry-run"), help: "Makes another dry run, which writes nothing.")
    var isDry = false

    func run() throws {
      job.options.send(.post, "\(job.path)/start", .json(["dry_run": .bool(isDry)]))
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the jobs of an app, the newest first.")
    @OptionGroup var options: AppOptions
    @OptionGroup var list: ListOptions

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        try await context.list(
          "/v1/jobs", of: options.app, options: list, columns: JobCommand.columns)
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows a job: its state, counts and first errors.")
    @OptionGroup var job: JobArgument

    func run() throws { job.options.send(.get, job.path) }
  }

  struct Stop: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Stops a job that runs; what it has done stays.")
    @OptionGroup var job: JobArgument

    func run() throws { job.end(isRunning: true, "The job does not run.") }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes a job with its input and results.")
    @OptionGroup var job: JobArgument
    @OptionGroup var confirmation: Confirmation

    func run() throws {
      job.end(isRunning: false, "The job runs: stop it first.", asking: confirmation)
    }
  }

  struct Results: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Writes the results of a job: a line of JSON for each user or line.")
    @OptionGroup var job: JobArgument

    @Option(help: ArgumentHelp("The file to write; by default standard output.", valueName: "file"))
    var output: String?

    func run() throws {
      job.options.common.run { context async throws(CommandFailure) in
        var request = APIRequest(.get, "\(job.path)/results")
        request.app = job.options.app
        let response = try await context.send(request)
        let file = if let output { try ResultsFile(output) } else { ResultsFile() }
        var count = 0
        while let part = await response.stream?.next() {
          try file.write(part)
          count += part.count
        }
        guard count == response.stream?.length ?? 0 else {
          throw CommandFailure("The results end too early. Try again.", .overloaded)
        }
        return CommandOutput(.null)
      }
    }
  }
}

/// The job of a command.
struct JobArgument: ParsableArguments {
  @OptionGroup var options: AppOptions

  @Argument(help: "The id of the job.")
  var job: String

  var path: String { "/v1/jobs/\(segment(job))" }

  /// Stops or deletes the job, if it runs or does not.
  fileprivate func end(
    isRunning: Bool, _ otherwise: String, asking confirmation: Confirmation? = nil
  ) -> Never {
    options.common.run { context async throws(CommandFailure) in
      let state = try await context.send(.get, path, to: options.app)["state"]?.string
      guard (state == "running") == isRunning else {
        throw CommandFailure(otherwise, .conflict)
      }
      try confirmation?.ask("Delete the job \(job)?")
      return CommandOutput(try await context.send(.delete, path, to: options.app))
    }
  }
}
