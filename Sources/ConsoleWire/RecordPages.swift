import ConsoleKit
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Records
import Runtime
import Tenancy
import WireKit

/// The list of a kind of record, its forms and its deletion, as the record declares them.
@EventLoop struct RecordPages {
  let section: ConsoleSection
  let words: RecordWords
  let shape: RecordShape
  /// The member that names a record for people.
  let title: String
  /// The member that is the key of paths.
  let key: String
  /// The columns of the form of a new record; nil for all.
  let creation: [String]?
  /// The columns of the list beside the name.
  let listed: [String]
  /// The word for a record on these pages.
  let one: String
  let none: String
  var labels: [String: String] = [:]
  var groups: [RecordForm.Group] = []
  /// Returns the values to tick in list columns.
  var options:
    @EventLoop @Sendable (ConsoleVisit) async throws(Failure) -> [String: [(
      value: String, label: String
    )]] = { _ in [:] }
  /// The sentence beside a secret that is shown once.
  var secretMeaning = "The secret is shown only now. Copy it to a safe place."
  /// Whether creations and changes need a recent authentication.
  var needsRecent = false
  /// The cards below the form of a record.
  var extra: @EventLoop @Sendable (ConsoleVisit, JSON) async throws(Failure) -> [Markup] = {
    _, _ in []
  }
  /// The tabs of a record, with the first one.
  var tabs: @EventLoop @Sendable (ConsoleVisit, String) -> [ConsoleTab] = { _, _ in [] }

  private nonisolated var path: String {
    "/console/\(section.isOfDeployment ? "-" : "{app}")/\(section.rawValue)"
  }
  private nonisolated var resource: String { "\(words.command)s" }

  nonisolated var routes: [Route] {
    [
      ConsoleVisit.page(path, "List the \(words.many) of an app") { (visit) async throws(Failure) in
        try await list(visit)
      },
      ConsoleVisit.page("\(path)/new", "Show the form of a new \(words.one)") {
        (visit) async throws(Failure) in try await newPage(visit)
      },
      ConsoleVisit.form(
        "\(path)/new", limit: 262_144, isRecent: needsRecent, "Create: \(words.one)"
      ) {
        (visit, form) async throws(Failure) in try await create(visit, form)
      },
      ConsoleVisit.page("\(path)/{record}", "Show the form of the \(words.one)") {
        (visit) async throws(Failure) in try await show(visit)
      },
      ConsoleVisit.form(
        "\(path)/{record}", limit: 262_144, isRecent: needsRecent, "Change the \(words.one)"
      ) {
        (visit, form) async throws(Failure) in try await save(visit, form)
      },
    ]
      + ConsoleVisit.asked(
        "\(path)/{record}/delete", for: .admin, isRecent: true, "Delete the \(words.one)",
        ask: deletion
      ) { (visit, _) async throws(Failure) in try await delete(visit) }
  }

  // MARK: Requests

  /// Whether a record names its app.
  private var hasApp: Bool { words.app != .selection && words.app != .nothing }

  /// The flag of commands that names the app; empty for records of the deployment.
  private func flag(_ visit: ConsoleVisit) -> String {
    words.app == .nothing ? "" : " --app \(visit.place)"
  }

  /// Returns the key of the record of the path.
  func id(_ visit: ConsoleVisit) -> String { visit.call.text("record") }

  /// Returns the path of the record of the path, or of a page below it.
  func recordPath(_ visit: ConsoleVisit, _ rest: String...) -> LocalPath {
    .console([visit.place, section.rawValue, id(visit)] + rest)
  }

  /// Reads the record of the path.
  ///
  /// - Throws: `.notFound` if it belongs to another app.
  func read(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleAnswer {
    let answer = try await visit.read(resource, id(visit))
    if hasApp, answer.json["app"]?.string != visit.app { throw .notFound }
    return answer
  }

  private func path(_ visit: ConsoleVisit, _ rest: String...) -> LocalPath {
    .console([visit.place, section.rawValue] + rest)
  }

  // MARK: List

  private func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let query: [(name: String, value: String)] =
      hasApp ? [("app", visit.place)] : []
    let items = try await visit.read(resource, query: query).items
    var page = ConsolePage(section.label, section: section)
    if visit.right >= .admin {
      page.actions = [
        Part.link("Create \(one)", to: path(visit, "new"), style: .primary)
      ]
    }
    page.commands = ["dossier \(words.command) list\(flag(visit))"]
    guard !items.isEmpty else {
      page.body = [Part.empty(none, page.actions.first)]
      return page
    }
    page.hasTimes = true
    let columns = listed.map { ConsoleTable.Column(labels[$0] ?? NameWords.label($0)) }
    let choices = shape.columns.filter { column in
      if case .choice = column.rule.kind { true } else { false }
    }.map(\.name)
    var table = ConsoleTable(
      section.label, [.init("Name")] + columns + [.init("Created", isMinor: true)])
    for item in items {
      let link: Markup = """
        <a href="\(path(visit, item[key]?.string ?? "").text)">\
        \(Part.name(item[title]?.string ?? item[key]?.string ?? ""))</a>
        """
      let cells = listed.map { name -> Markup in
        let value = item[name] ?? .null
        if value.bool == true { return Part.tag("Yes") }
        if value.bool == false { return "" }
        if choices.contains(name), let word = value.string { return "\(NameWords.label(word))" }
        if let count = value.array?.count ?? value.object?.count { return "\(count)" }
        return Part.name(value.string ?? (value == .null ? "" : value.text))
      }
      table.rows.append([link] + cells + [Part.time(item["created_at"]?.string)])
    }
    page.body = [table.markup]
    return page
  }

  // MARK: A new record

  private func creationForm(_ visit: ConsoleVisit) async throws(Failure) -> RecordForm {
    let columns = shape.columns.filter { column in
      creation?.contains(column.name) ?? (column.name != "id")
    }
    var form = RecordForm(columns: columns, labels: labels, groups: groups)
    form.options = try await options(visit)
    return form
  }

  private func newPage(
    _ visit: ConsoleVisit, _ form: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let fields = try await creationForm(visit)
    var page = ConsolePage("Create \(one)", section: section)
    page.back = ConsoleLink(section.label, to: path(visit))
    page.mistakes = mistakes
    page.body = [
      Part.paragraph(words.meaning, isMuted: true),
      Part.card(
        nil,
        Part.form(
          visit.target(path(visit, "new")), isWide: true,
          """
          \(fields.markup(nil, form, mistakes))\
          \(Part.buttons(
            Part.submit("Create"), Part.link("Cancel", to: path(visit), style: .secondary)))
          """)),
    ]
    page.commands = ["dossier \(words.command) create --help"]
    return page
  }

  private func create(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let fields = try await creationForm(visit)
    let (patch, mistakes) = fields.patch(form, nil)
    guard mistakes.isEmpty else {
      return .refused(try await newPage(visit, form, mistakes: mistakes), .unprocessable)
    }
    var body = patch
    if hasApp { body["app"] = .string(visit.place) }
    var request = ConsoleRequest(.post, resource)
    request.body = .object(body)
    return try await visit.submit(request, fields.columns.map(\.name)) { answer in
      let made = answer.json
      var values: [ConsoleState.Value: String] = [:]
      values[.secret] = made["secret"]?.string
      let next = path(visit, made[key]?.string ?? "")
      return .done(next, "Created", name: made[title]?.string ?? "", values: values)
    } orShow: { (mistakes) async throws(Failure) in
      try await newPage(visit, form, mistakes: mistakes)
    }
  }

  // MARK: One record

  private func form(_ visit: ConsoleVisit) async throws(Failure) -> RecordForm {
    let columns = shape.columns.filter { !$0.has(.immutable) }
    var form = RecordForm(columns: columns, labels: labels, groups: groups)
    form.options = try await options(visit)
    return form
  }

  func head(of record: JSON, _ visit: ConsoleVisit, tab: String) -> ConsolePage {
    let name = record[title]?.string ?? record[key]?.string ?? ""
    var page = ConsolePage(name, heading: Part.name(name), section: section)
    page.back = ConsoleLink(section.label, to: path(visit))
    page.tabs = tabs(visit, tab)
    if record["disabled"]?.bool == true { page.tags = [Part.tag("Disabled", .danger)] }
    return page
  }

  private func show(
    _ visit: ConsoleVisit, _ typed: FormValues? = nil, mistakes: [Mistake] = [],
    answer known: ConsoleAnswer? = nil
  ) async throws(Failure) -> ConsolePage {
    let answer: ConsoleAnswer
    if let known { answer = known } else { answer = try await read(visit) }
    let record = answer.json
    let form = try await form(visit)
    var page = head(of: record, visit, tab: "")
    page.mistakes = mistakes
    page.hasTimes = true
    // The id of a client stands beside its domain.
    let fixed = shape.columns.filter {
      $0.has(.immutable) && !$0.has(.secret) && $0.name != "id"
    }
    var facts = fixed.compactMap { column -> (label: String, value: Markup)? in
      guard let value = record[column.name]?.string else { return nil }
      let label = labels[column.name] ?? NameWords.label(column.name)
      if case .choice = column.rule.kind { return (label, Part.name(NameWords.label(value))) }
      return (label, Part.identifier(value))
    }
    facts.append(("Created", Part.time(record["created_at"]?.string)))
    if let secret = visit.state.values[.secret] {
      page.body.append(
        """
        <div class="once"><p>\(secretMeaning)</p>\
        <p class="key"><code>\(secret)</code></p></div>
        """)
    }
    page.body += try await extra(visit, record)
    page.body.append(Part.card(nil, Part.definitions(facts)))
    if visit.right >= .admin {
      page.actions = [
        Part.link("Delete", to: path(visit, id(visit), "delete"), style: .danger)
      ]
      page.body.append(
        Part.card(
          "Settings",
          Part.form(
            visit.target(path(visit, id(visit)), [.version(answer.version)]), isWide: true,
            """
            \(form.markup(record.object, typed, mistakes))\
            \(Part.buttons(Part.submit("Save changes")))
            """)))
    } else {
      page.body.append(
        Part.card(
          "Settings",
          Part.definitions(
            form.columns.filter { !$0.has(.secret) }.map { column in
              (
                labels[column.name] ?? NameWords.label(column.name),
                Part.name(RecordForm.text(of: record[column.name] ?? .null, column.rule))
              )
            })))
      page.body.append(
        Part.paragraph("An admin or owner can change and delete it.", isMuted: true))
    }
    let (member, own) = ("\(words.parameter)_id", id(visit))
    page.body.append(
      try await ObjectHistory.card("\(words.parameter)_*", visit) { $0[member]?.string == own })
    page.commands = [
      "dossier \(words.command) show \(id(visit))"
        + (words.app == .selection ? " --app \(visit.place)" : "")
    ]
    return page
  }

  private func save(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let stored = try await read(visit)
    let fields = try await self.form(visit)
    let (patch, mistakes) = fields.patch(form, stored.json.object)
    guard mistakes.isEmpty else {
      return .refused(
        try await show(visit, form, mistakes: mistakes, answer: stored), .unprocessable)
    }
    guard form.version == stored.version else {
      let differing = fields.differences(of: patch, from: stored.json.object)
      let first = Mistake(
        "Someone has changed this since you opened it. Nothing was saved; check the fields and save "
          + "again.")
      let page = try await show(visit, form, mistakes: [first] + differing, answer: stored)
      return .refused(page, .preconditionFailed)
    }
    let next = path(visit, id(visit))
    guard patch.count > 0 else { return .done(next, "Nothing has changed.") }
    var request = ConsoleRequest(.patch, resource, id(visit))
    (request.body, request.version) = (.object(patch), stored.version)
    return try await visit.submit(request, fields.columns.map(\.name)) { _ in
      .done(next, "The changes are saved.")
    } orShow: { (mistakes) async throws(Failure) in
      try await show(visit, form, mistakes: mistakes, answer: stored)
    }
  }

  // MARK: Deletion

  private func deletion(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleQuestion {
    let record = try await read(visit).json
    let name = record[title]?.string ?? ""
    return ConsoleQuestion(
      title: "Delete \(name)", heading: "Delete \(Part.name(name))", section: section,
      back: ConsoleLink(name, to: path(visit, id(visit))),
      consequences: [words.consequence, "This cannot be undone."], button: "Delete \(one)",
      confirmation: name, commands: ["dossier \(words.command) delete \(id(visit))"])
  }

  private func delete(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleOutcome {
    let name = try await read(visit).json[title]?.string ?? ""
    _ = try await visit.send(ConsoleRequest(.delete, resource, id(visit)))
    return .done(path(visit), "Deleted", name: name)
  }
}

/// The records that have only the pages of `RecordPages`.
enum RecordSections {
  static let routes = apis.routes

  private static let apis = RecordPages(
    section: .apis, words: ResourceServerRecord.words, shape: ResourceServerRecord.table.shape,
    title: "name", key: "id", creation: ["name", "identifier"], listed: ["identifier", "scopes"],
    one: "API", none: "This app has no APIs. An API is what access tokens are for.",
    labels: ["identifier": "Identifier", "name": "Name", "scopes": "Permissions"])
}
