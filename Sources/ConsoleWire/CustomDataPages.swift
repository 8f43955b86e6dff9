import ConsoleKit
import ConsolePages
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Records
import Runtime
import Tenancy
import WireKit

/// The custom data of an app as clients of App Services see it: the collection, and what users may do.
///
/// The labels are those of the page *Custom User Data* of App Services.
@EventLoop enum CustomDataPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/custom-data", "Show where clients find custom data") {
      (visit) async throws(Failure) in try await show(visit)
    },
    ConsoleVisit.form("/console/{app}/custom-data", "Change where clients find custom data", save),
  ]

  private static let collection = "app_services_collection"
  /// The parts of the name of the collection, which one setting has.
  private static let parts = [
    ("cluster", "Cluster name", "mongodb-atlas"), ("database", "Database name", "my_database"),
    ("collection", "Collection name", "users"),
  ]
  private static let names = [
    "app_services", "app_services_user_field", "custom_data_readable", "custom_data_writable",
  ]

  private static func form(_ visit: ConsoleVisit) -> RecordForm {
    RecordForm(
      columns: names.compactMap(visit.context.apps.catalog.settings.column(named:)),
      labels: ["app_services_user_field": "User ID field"])
  }

  private static func show(
    _ visit: ConsoleVisit, _ typed: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let answer = try await visit.read("apps", visit.place)
    let values = answer.json["settings"]?.object
    var page = ConsolePage("App Services data", section: .customData)
    page.mistakes = mistakes
    let stored = (values?[collection]?.string ?? "").split(separator: "/", maxSplits: 2)
    let places = parts.enumerated().map { index, part in
      ConsoleField(
        part.0, part.1,
        value: typed?[part.0] ?? (index < stored.count ? String(stored[index]) : ""),
        hint: "For example \(part.2).")
    }
    let rest = form(visit).fields(values, typed)
    page.body = [
      Part.paragraph(
        "Clients written for App Services find the custom data of their user in this collection.")
    ]
    if visit.right >= .admin {
      page.body.append(
        Part.card(
          nil,
          Part.form(
            visit.target(visit.path("custom-data"), [.version(answer.version)]), isWide: true,
            """
            \(rest.prefix(1).map { $0.with(mistakes).markup })\(places.markup(mistakes))\
            \(Array(rest.dropFirst()).markup(mistakes))\(Part.buttons(Part.submit("Save")))
            """)))
    } else {
      page.body.append(
        Part.card(
          nil, Part.definitions((places + rest).map { ($0.label, Part.name($0.value)) })))
    }
    page.commands = [
      "dossier app set --app \(visit.place) app_services=true \(collection)=CLUSTER/DATABASE/COLLECTION"
    ]
    return page
  }

  private static func save(
    _ visit: ConsoleVisit, _ typed: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let values = try await visit.read("apps", visit.place).json["settings"]?.object
    var (patch, mistakes) = form(visit).patch(typed, values)
    guard mistakes.isEmpty else {
      return .refused(try await show(visit, typed, mistakes: mistakes), .unprocessable)
    }
    let places = parts.map { typed[$0.0] ?? "" }
    let name = places.allSatisfy(\.isEmpty) ? "" : places.joined(separator: "/")
    if name != values?[collection]?.string { patch[collection] = .string(name) }
    let next = visit.path("custom-data")
    guard patch.count > 0 else { return .done(next, "Nothing has changed.") }
    var request = ConsoleRequest(.patch, "apps", visit.place)
    (request.body, request.version) = (["settings": .object(patch)], try typed.seenVersion)
    var pointers = Dictionary(uniqueKeysWithValues: names.map { ("/settings/\($0)", $0) })
    pointers["/settings/\(collection)"] = "collection"
    return try await visit.submit(request, names + parts.map(\.0), naming: pointers) { _ in
      .done(next, "Saved.")
    } orShow: { (mistakes) async throws(Failure) in
      try await show(visit, typed, mistakes: mistakes)
    }
  }
}
