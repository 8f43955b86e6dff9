import ConsoleKit
import Administration
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import Transfer
import WireKit

/// The jobs of an app: imports, exports and changes of many users.
@EventLoop enum JobPages {
  private nonisolated static let path = "/console/{app}/transfer"

  nonisolated static let routes = [
    ConsoleVisit.page(path, "List the jobs of an app") { (visit) async throws(Failure) in
      try await list(visit)
    },
    ConsoleVisit.form("\(path)/import", below: 1, for: .admin, isRecent: true, "Begin an import") {
      (visit, form) async throws(Failure) in
      var body = JSONObject([("kind", "import")])
      for name in ["format", "existing", "issuer"] where !form.trimmed(named: name).isEmpty {
        body[name] = .string(form.trimmed(named: name))
      }
      if form["verified_emails"] != nil { body["verified_emails"] = true }
      return try await start(body, visit, "Now upload the file")
    },
    ConsoleVisit.form("\(path)/export", below: 1, for: .admin, isRecent: true, "Begin an export") {
      (visit, _) async throws(Failure) in
      try await start(JSONObject([("kind", "export")]), visit, "The export has begun")
    },
    ConsoleVisit.refreshing("\(path)/{job}", "Show a job", show),
    ConsoleVisit.upload(
      "\(path)/{job}/input", below: 1, limit: Jobs.uploadLimit, for: .admin,
      "Upload input of an import", upload),
    ConsoleVisit.form(
      "\(path)/{job}/start", below: 1, for: .admin, isRecent: true, "Start an import"
    ) {
      (visit, form) async throws(Failure) in
      let isDry = form["dry_run"] == "true"
      return try await act(
        visit, .post, "start", ["dry_run": .bool(isDry)],
        isDry ? "The dry run has begun" : "The import has begun")
    },
    ConsoleVisit.form("\(path)/{job}/stop", below: 1, for: .admin, isRecent: true, "Stop a job") {
      (visit, _) async throws(Failure) in
      // A job that has ended meanwhile keeps its results.
      let job = try await visit.read("jobs", id(visit)).json
      guard job["state"] == "running" else {
        return .done(page(of: id(visit), visit), "The job has ended already")
      }
      return try await act(visit, .delete, nil, nil, "Stopped")
    },
    ConsoleVisit.form("\(path)/{job}/remove", below: 2, for: .admin, isRecent: true, "Remove a job")
    {
      (visit, _) async throws(Failure) in
      let job = try await visit.read("jobs", id(visit)).json
      guard job["state"] != "running" else { throw .jobState }
      _ = try await visit.send(ConsoleRequest(.delete, "jobs", id(visit)))
      return .done(visit.path("transfer"), "Removed")
    },
    ConsoleVisit.download("\(path)/{job}/results", for: .admin, "Download the results of a job") {
      visit in
      ConsoleRequest(.get, "jobs", id(visit), "results")
    } name: { visit in
      "\(visit.place)-\(id(visit)).ndjson"
    },
  ]

  private static func id(_ visit: ConsoleVisit) -> String { visit.call.text("job") }

  static func page(of job: String, _ visit: ConsoleVisit) -> LocalPath {
    visit.path("transfer", job)
  }

  // MARK: The list

  private static func list(
    _ visit: ConsoleVisit, _ mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let jobs = try await visit.read("jobs", query: [("limit", "50"), ("cursor", visit.cursor)])
    var page = ConsolePage("Import and export", section: .transfer)
    page.mistakes = mistakes
    page.hasTimes = true
    page.commands = [
      "dossier job list --app \(visit.place)",
      "dossier job start import --input FILE --app \(visit.place)",
      "dossier job start export --app \(visit.place)",
    ]
    if jobs.items.isEmpty {
      page.body.append(Part.empty("No import, export or change of many users has been started."))
    } else {
      page.body.append(try await table(of: jobs.items, visit))
      page.body += visit.pager(jobs) { visit.path("transfer", query: $0) }
    }
    guard visit.session.isRecent else {
      page.body.append(confirmation(visit, visit.path("transfer")))
      return page
    }
    page.body += [
      Part.card(
        "Import users",
        Part.form(
          visit.target(visit.path("transfer", "import")), isWide: true,
          """
          \(importFields.markup(mistakes))\
          \(Part.buttons(Part.submit("Continue")))
          """)),
      Part.card(
        "Export users",
        """
        \(Part.paragraph(
          "All users of the app with all their data, as lines of JSON that an import reads, without "
            + "passwords. The list of users has “Export CSV” for a spreadsheet."))\
        \(Part.button("Export all users", visit.target(visit.path("transfer", "export"))))
        """),
    ]
    return page
  }

  private static let importFields = [
    ConsoleField(
      "format", "Format of the lines",
      .choice([
        ("dossier", "Dossier"), ("auth0", "Auth0"), ("app-services", "App Services: users"),
        ("app-services-documents", "App Services: custom data"),
      ]), value: "dossier"),
    ConsoleField(
      "existing", "Lines of users that exist",
      .choice([("fail", "Fail"), ("skip", "Skip"), ("update", "Update")]), value: "fail"),
    ConsoleField(
      "issuer", "Issuer of custom tokens", hint: "Only for users of App Services. May stay empty."),
    ConsoleField(
      "verified_emails", "Users of App Services have verified their addresses", .checkbox),
  ]

  /// Returns the link to the page on which the administrator authenticates again.
  private static func confirmation(_ visit: ConsoleVisit, _ next: LocalPath) -> Markup {
    Part.card(
      nil,
      """
      \(Part.paragraph("Imports, exports and their results need your password and a code."))\
      \(Part.link(
        "Confirm that it is you", to: AccessPages.confirmation(before: next), style: .primary))
      """)
  }

  private static func table(
    of jobs: [JSON], _ visit: ConsoleVisit
  ) async throws(Failure) -> Markup {
    let actors = try await visit.actors(jobs.compactMap(actor))
    var table = ConsoleTable(
      "Jobs",
      [
        .init("Job"), .init("State"), .init("Done", isNumber: true),
        .init("Started by", isMinor: true), .init("Created"),
      ])
    for job in jobs {
      let path = page(of: job["id"]?.string ?? "", visit)
      table.rows.append([
        Part.link(title(of: job), to: path), tag(of: job), "\(done(job))",
        Part.address(actor(of: job).flatMap { actors[$0] } ?? "Command line"),
        Part.time(job["created_at"]?.string),
      ])
    }
    return table.markup
  }

  /// Returns the administrator who has started a job, as events name it; nil for an operator.
  private static func actor(of job: JSON) -> String? {
    job["administrator"]?.string.map { "administrator:\($0)" }
  }

  // MARK: One job

  private static func title(of job: JSON) -> String {
    switch job["kind"]?.string {
    case "import": "Import"
    case "export": "Export"
    default: BulkPages.label(of: job["action"]?.string) ?? "Change"
    }
  }

  private static func tag(of job: JSON) -> Markup {
    switch job["state"]?.string {
    case "open": Part.tag("Takes input")
    case "checked": Part.tag("Dry run done")
    case "running": Part.tag(job["dry_run"] == true ? "Dry run" : "Running")
    case "done": Part.tag("Done", .success)
    case "stopped": Part.tag("Stopped")
    default: Part.tag("Failed", .danger)
    }
  }

  private static func done(_ job: JSON) -> String {
    let done = job["done"]?.number?.int ?? 0
    guard let total = job["total"]?.number?.int else { return "\(done)" }
    return total == 0 ? "0" : "\(done) of \(total)"
  }

  private static func show(
    _ visit: ConsoleVisit
  ) async throws(Failure) -> (page: ConsolePage, isRunning: Bool) {
    let job = try await visit.read("jobs", id(visit)).json
    return (jobPage(job, visit), job["state"] == "running")
  }

  private static func jobPage(
    _ job: JSON, _ visit: ConsoleVisit, _ mistakes: [Mistake] = []
  ) -> ConsolePage {
    var page = ConsolePage(title(of: job), section: .transfer)
    page.back = ConsoleLink("Import and export", to: visit.path("transfer"))
    page.tags = [tag(of: job)]
    page.mistakes = mistakes
    page.hasTimes = true
    let command = "\(id(visit)) --app \(visit.place)"
    page.commands = ["dossier job show \(command)", "dossier job results \(command)"]
    let isRunning = job["state"] == "running"
    if isRunning {
      page.body.append(
        Part.paragraph("This page shows the progress again every 5 seconds.", isMuted: true))
    }
    page.body.append(Part.card(nil, progress(of: job)))
    if isRunning || visit.session.isRecent {
      page.body += forms(for: job, visit, mistakes)
    } else {
      page.body.append(confirmation(visit, self.page(of: id(visit), visit)))
    }
    let errors = job["errors"]?.array ?? []
    if !errors.isEmpty { page.body.append(table(ofErrors: Array(errors))) }
    return page
  }

  private static func progress(of job: JSON) -> Markup {
    var rows: [(label: String, value: Markup)] = []
    let (done, total) = (job["done"]?.number?.int ?? 0, job["total"]?.number?.int ?? 0)
    let what = job["kind"] == "import" ? "Bytes" : "Users"
    if total > 0 {
      rows.append(
        (
          what,
          #"<progress max="\#("\(total)")" value="\#("\(done)")" aria-label="Progress"></progress> \#(self.done(job))"#
        ))
    } else {
      rows.append((what, "\(self.done(job))"))
    }
    for name in ["rows", "created", "updated", "exported", "done", "skipped", "failed"] {
      guard let count = job["counts"]?[name] else { continue }
      rows.append((name.prefix(1).uppercased() + name.dropFirst(), "\(count.text)"))
    }
    for (name, label) in [
      ("filter", "Filter"), ("format", "Format"), ("existing", "Lines of users that exist"),
      ("error", "Error"),
    ] {
      if let text = job[name]?.string { rows.append((label, Part.identifier(text))) }
    }
    if let bytes = job["input_bytes"]?.number?.int { rows.append(("Input", "\("\(bytes)") bytes")) }
    rows.append(("Created", Part.time(job["created_at"]?.string)))
    rows.append(("Ended", Part.time(job["ended_at"]?.string)))
    return Part.definitions(rows)
  }

  private static func forms(
    for job: JSON, _ visit: ConsoleVisit, _ mistakes: [Mistake]
  ) -> [Markup] {
    let state = job["state"]?.string ?? ""
    func button(
      _ label: String, _ action: String, _ hidden: [HiddenField] = [],
      style: Button.Style = .secondary
    ) -> Markup {
      Part.button(
        label, visit.target(visit.path("transfer", id(visit), action), hidden), style: style)
    }
    var parts: [Markup] = []
    if state == "open" || state == "checked" {
      parts.append(uploadCard(job, visit, mistakes))
      var buttons: [Markup] = []
      let dry = HiddenField("dry_run", "true")
      if state == "checked" {
        buttons.append(button("Start the import", "start", style: .primary))
      }
      if job["input_bytes"] != 0 {
        let style = state == "open" ? Button.Style.primary : .secondary
        buttons.append(button("Dry run", "start", [dry], style: style))
      }
      if !buttons.isEmpty {
        let text =
          state == "open"
          ? "A dry run reads all lines, reports what an import would do, and writes nothing."
          : "The dry run has written nothing. The import does what it has reported."
        parts.append(
          Part.card("Import", "\(Part.paragraph(text))<div class=\"buttons\">\(buttons)</div>"))
      }
    }
    if state == "running" { return parts + [button("Stop", "stop")] }
    var rest: [Markup] = []
    if let bytes = job["result_bytes"]?.number?.int, bytes > 0 {
      rest.append(
        Part.link(
          job["kind"] == "export" ? "Download the list" : "Download the results",
          to: visit.path("transfer", id(visit), "results"),
          style: .secondary))
    }
    rest.append(button("Remove the job", "remove"))
    return parts + [#"<div class="buttons">\#(rest)</div>"#]
  }

  private static func uploadCard(
    _ job: JSON, _ visit: ConsoleVisit, _ mistakes: [Mistake]
  ) -> Markup {
    let target = visit.target(visit.path("transfer", id(visit), "input"))
    let next = job["input_bytes"] == 0 ? "Upload the file" : "Upload the next part"
    return Part.card(
      "Input",
      """
      \(Part.paragraph(
        "A file may have 8 MB. Cut a longer one into parts, and upload them in their order, up to "
          + "100 MB: split -b 8M users.ndjson"))\
      \(Part.form(
        target, isWide: true, hasFile: true,
        """
        \([ConsoleField("file", "File", .file)].markup(mistakes))\
        \(Part.buttons(Part.submit(next, .secondary)))
        """))
      """)
  }

  private static func table(ofErrors errors: [JSON]) -> Markup {
    let isOfLines = errors.first?["line"] != nil
    var table = ConsoleTable(
      "Errors", [.init(isOfLines ? "Line" : "User"), .init("Error"), .init("Details")])
    for error in errors {
      table.rows.append([
        isOfLines ? "\(error["line"]?.text ?? "")" : Part.identifier(error["id"]?.string ?? ""),
        Part.identifier(error["code"]?.string ?? error["error"]?.string ?? ""),
        Part.name("\(error["pointer"]?.string ?? "") \(error["detail"]?.string ?? "")"),
      ])
    }
    return Part.card("First errors", table.markup)
  }

  // MARK: Forms

  static func start(
    _ body: JSONObject, _ visit: ConsoleVisit, _ notice: String
  ) async throws(Failure) -> ConsoleOutcome {
    var request = ConsoleRequest(.post, "jobs")
    request.body = .object(body)
    return try await visit.submit(request, ["format", "existing", "issuer"]) { made in
      .done(page(of: made.json["id"]?.string ?? "", visit), notice)
    } orShow: { (mistakes) async throws(Failure) in
      try await list(visit, mistakes)
    }
  }

  private static func act(
    _ visit: ConsoleVisit, _ method: HTTP.Method, _ action: String?, _ body: JSON?,
    _ notice: String
  ) async throws(Failure) -> ConsoleOutcome {
    var request = ConsoleRequest(method, ["jobs", id(visit), action].compactMap(\.self))
    request.body = body
    return try await visit.submit(request, []) { _ in
      .done(page(of: id(visit), visit), notice)
    } orShow: { (mistakes) async throws(Failure) in
      jobPage(try await visit.read("jobs", id(visit)).json, visit, mistakes)
    }
  }

  private static func upload(
    _ visit: ConsoleVisit, _ form: Multipart
  ) async throws(Failure) -> ConsoleOutcome {
    let job = try await visit.read("jobs", id(visit)).json
    guard let file = form["file"]?.content, !file.isEmpty else {
      let mistakes = [Mistake("Choose a file that is not empty.", field: "file")]
      return .refused(jobPage(job, visit, mistakes), .unprocessable)
    }
    let number = (job["input_parts"]?.number?.int ?? 0) + 1
    var request = ConsoleRequest(.put, "jobs", id(visit), "input", "\(number)")
    request.bytes = Array(file)
    return try await visit.submit(request, ["file"]) { _ in
      .done(page(of: id(visit), visit), "Uploaded")
    } orShow: { mistakes in
      jobPage(job, visit, mistakes)
    }
  }
}
