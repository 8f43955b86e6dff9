import ConsoleKit
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The other data of an app: search indexes, schemas of documents, and signing keys.
@EventLoop enum StoragePages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/indexes", "List the search indexes") {
      (visit) async throws(Failure) in try await indexes(visit)
    },
    ConsoleVisit.form("/console/{app}/indexes", "Create a search index", addIndex),
    ConsoleVisit.form("/console/{app}/indexes/drop", below: 1, "Drop a search index") {
      (visit, form) async throws(Failure) in
      _ = try await visit.send(ConsoleRequest(.delete, "indexes", form["index"] ?? ""))
      return .done(visit.path("indexes"), "The index is being dropped.")
    },
    ConsoleVisit.page("/console/{app}/schemas", "List the schemas of documents", schemas),
    ConsoleVisit.page("/console/{app}/schemas/{kind}", "Show the schema of a kind of document") {
      (visit) async throws(Failure) in try await schema(visit)
    },
    ConsoleVisit.form(
      "/console/{app}/schemas/{kind}", limit: KeptForm.bodyLimit,
      "Set the schema of a kind of document", saveSchema),
    ConsoleVisit.form(
      "/console/{app}/schemas/{kind}/remove", below: 1, "Remove the schema of a kind of document"
    ) { (visit, _) async throws(Failure) in
      _ = try await visit.send(ConsoleRequest(.delete, "schemas", visit.call.text("kind")))
      return .done(visit.path("schemas"), "The schema is removed. The documents stay.")
    },
    ConsoleVisit.page("/console/{app}/keys", "List the signing keys", keys),
    ConsoleVisit.form(
      "/console/{app}/keys/rotate", below: 1, for: .owner, isRecent: true, "Rotate the signing keys"
    ) {
      (visit, _) async throws(Failure) in
      _ = try await visit.send(ConsoleRequest(.post, "keys", "rotate"))
      return .done(visit.path("keys"), "New keys sign from now on. Older tokens stay valid.")
    },
  ]

  // MARK: Indexes

  private static func indexes(
    _ visit: ConsoleVisit, _ form: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let items = try await visit.read("indexes").items
    var page = ConsolePage("Indexes", section: .indexes)
    page.mistakes = mistakes
    page.hasTimes = true
    let mayChange = visit.right >= .admin
    var columns: [ConsoleTable.Column] = [
      .init("Path"), .init("State"), .init("Kind"), .init("Created"),
    ]
    if mayChange { columns.append(.init("Action")) }
    var table = ConsoleTable("Indexes", columns)
    for item in items {
      let state = item["state"]?.string ?? ""
      let id = item["id"]?.string
      var row: [Markup] = [
        Part.identifier(item["path"]?.string ?? ""),
        state == "ready" ? Part.tag("Ready", .success) : Part.tag(state),
        Part.name(item["kind"]?.string ?? ""),
        id == nil ? Part.muted("always") : Part.time(item["created_at"]?.string),
      ]
      if mayChange {
        row.append(
          id.map {
            Part.button(
              "Drop", visit.target(visit.path("indexes", "drop"), [HiddenField("index", $0)]))
          } ?? "")
      }
      table.rows.append(row)
    }
    page.body = [
      Part.paragraph("A filter of users needs a term on one of these paths.", isMuted: true),
      table.markup,
    ]
    if mayChange {
      let fields = [
        ConsoleField(
          "path", "Path", value: form?["path"] ?? "",
          hint: "A member of a document, such as metadata.theme."),
        ConsoleField(
          "kind", "Kind of its values",
          .choice([("text", "text"), ("number", "number"), ("boolean", "boolean")]),
          value: form?["kind"] ?? ""),
      ]
      page.body.append(
        Part.card(
          "Add an index",
          Part.form(
            visit.target(visit.path("indexes")), isWide: true,
            "\(fields.markup(mistakes))\(Part.buttons(Part.submit("Add index")))")))
    }
    page.body.append(try await ObjectHistory.card("index_*", visit) { _ in true })
    page.commands = [
      "dossier index list --app \(visit.place)",
      "dossier index create metadata.theme kind=text --app \(visit.place)",
    ]
    return page
  }

  private static func addIndex(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    var request = ConsoleRequest(.post, "indexes")
    request.body = [
      "path": .string(form.trimmed(named: "path")), "kind": .string(form["kind"] ?? ""),
    ]
    return try await visit.submit(request, ["path", "kind"]) { _ in
      .done(visit.path("indexes"), "The index is built in the background.")
    } orShow: { (mistakes) async throws(Failure) in
      try await indexes(visit, form, mistakes: mistakes)
    }
  }

  // MARK: Schemas

  private static func schemas(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let kinds = try await visit.read("schemas").items.compactMap { $0["kind"]?.string }
    var page = ConsolePage("Schemas", section: .schemas)
    var table = ConsoleTable("Schemas", [.init("Documents"), .init("State")])
    for document in ConsoleDocument.allCases {
      table.rows.append([
        Part.link(document.label, to: visit.path("schemas", document.rawValue)),
        kinds.contains(document.rawValue)
          ? Part.tag("Has a schema", .success) : Part.tag("Any object"),
      ])
    }
    page.body = [
      Part.paragraph(
        "Documents of this app may have any form. A schema restricts those that are written from then "
          + "on.", isMuted: true),
      table.markup,
    ]
    page.commands = [
      "dossier schema list --app \(visit.place)",
      "dossier schema set metadata FILE --app \(visit.place)",
    ]
    return page
  }

  private static func document(_ visit: ConsoleVisit) throws(Failure) -> ConsoleDocument {
    guard let document = ConsoleDocument(rawValue: visit.call.text("kind")) else { throw .notFound }
    return document
  }

  private static func schema(
    _ visit: ConsoleVisit, _ typed: String? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let document = try document(visit)
    var stored: JSON?
    do throws(Failure) {
      stored = try await visit.read("schemas", document.rawValue).json
    } catch {
      guard error.type.kind == .notFound else { throw error }
    }
    var page = ConsolePage("Schema of \(document.field)", section: .schemas)
    page.back = ConsoleLink("Schemas", to: visit.path("schemas"))
    page.mistakes = mistakes
    page.hasTimes = true
    let text = typed ?? stored?.edited ?? "{\n  \"type\": \"object\"\n}"
    if visit.right >= .admin {
      let field = ConsoleField(
        "schema", "JSON Schema", .json, value: text,
        hint: "It checks each write. Documents that are stored already stay.")
      page.body = [
        Part.card(
          nil,
          Part.form(
            visit.target(visit.path("schemas", document.rawValue)), isWide: true,
            """
            \([field].markup(mistakes))\
            \(Part.buttons(Part.submit("Save", value: HiddenField("save", "yes"))))
            """))
      ]
      if stored != nil {
        page.actions = [
          Part.button(
            "Remove schema",
            visit.target(visit.path("schemas", document.rawValue, "remove")))
        ]
      }
    } else {
      page.body = [
        stored.map { Part.card(nil, Part.code($0.edited, label: "JSON Schema")) }
          ?? Part.empty("These documents may have any form.")
      ]
    }
    page.body.append(
      try await ObjectHistory.card("schema_*", visit) {
        $0["kind"]?.string == document.rawValue
      })
    page.commands = ["dossier schema set \(document.rawValue) FILE --app \(visit.place)"]
    return page
  }

  private static func saveSchema(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let document = try document(visit)
    let text = (form["schema"] ?? "").replacing("\r\n", with: "\n")
    var request = ConsoleRequest(.put, "schemas", document.rawValue)
    do throws(JSONError) {
      request.body = try JSON.parse(Array(text.utf8))
    } catch {
      let mistakes = [Mistake(error.text(in: text), field: "schema")]
      return .refused(try await schema(visit, text, mistakes: mistakes), .unprocessable)
    }
    return try await visit.submit(request, ["schema"]) { _ in
      .done(visit.path("schemas", document.rawValue), "The schema is saved.")
    } orShow: { (mistakes) async throws(Failure) in
      try await schema(
        visit, text, mistakes: mistakes.map { Mistake($0.text, field: "schema") })
    }
  }

  // MARK: Keys

  private static func keys(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let items = try await visit.read("keys").items
    var page = ConsolePage("Signing keys", section: .keys)
    page.hasTimes = true
    var table = ConsoleTable(
      "Signing keys",
      [.init("Id"), .init("State"), .init("Purpose"), .init("Algorithm"), .init("Created")])
    for item in items {
      table.rows.append([
        Part.identifier(item["id"]?.string ?? ""),
        item["current"]?.bool == true
          ? Part.tag("In use", .success) : Part.tag("Verifies older tokens"),
        Part.name(item["purpose"]?.string ?? ""), Part.name(item["algorithm"]?.string ?? ""),
        Part.time(item["created_at"]?.string),
      ])
    }
    page.actions = [Part.button("Rotate keys", visit.target(visit.path("keys", "rotate")))]
    page.body = [
      items.isEmpty ? Part.empty("The first sign-in makes the keys.") : table.markup
    ]
    page.commands = [
      "dossier key list --app \(visit.place)", "dossier key rotate --app \(visit.place)",
    ]
    return page
  }
}
