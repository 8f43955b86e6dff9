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
      (visit) async throws(Failure) in try await SchemaPages.page(visit)
    },
    ConsoleVisit.form(
      "/console/{app}/schemas/{kind}", limit: KeptForm.bodyLimit,
      "Set the schema of a kind of document", SchemaPages.save),
    ConsoleVisit.form(
      "/console/{app}/schemas/{kind}/remove", below: 1, "Remove the schema of a kind of document",
      SchemaPages.remove),
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
