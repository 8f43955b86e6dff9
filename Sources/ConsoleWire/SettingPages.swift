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

/// The settings of an app, by subject, with meaning, default and value.
@EventLoop enum SettingPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/settings", "List the subjects of settings", overview),
    ConsoleVisit.page("/console/{app}/settings/{subject}", "Show the settings of a subject") {
      (visit) async throws(Failure) in try await show(visit)
    },
    ConsoleVisit.form(
      "/console/{app}/settings/{subject}", limit: 262_144, "Change the settings of a subject", save),
    ConsoleVisit.lead("/console/{app}/branding", "Lead to the settings of the look") { visit in
      .redirect(visit.path("settings", "branding"))
    },
  ]

  /// The part of the settings that a subject has.
  struct Subject {
    let name: String
    let label: String
    let columns: [Column]
  }

  /// Labels of the parts whose names say too little.
  private static let labels = [
    "account": "Accounts and passwords", "session": "Sessions and second factors",
    "limit": "Limits", "browser": "Browsers", "document": "Documents", "event": "Events",
    "mail": "Emails", "app-texts": "Texts of pages and emails", "branding": "Branding",
    "sign-out": "Sign-out", "app-services": "App Services", "parra": "Parra",
    "management": "Auth0", "passkey": "Passkeys",
  ]

  private static func subjects(_ visit: ConsoleVisit) -> [Subject] {
    visit.context.apps.catalog.settings.parts.map { part in
      let type = String(describing: part)
      let stem = type.hasSuffix("Settings") ? String(type.dropLast(8)) : type
      var name = ""
      for character in stem {
        if character.isUppercase, !name.isEmpty { name += "-" }
        name += character.lowercased()
      }
      return Subject(
        name: name, label: labels[name] ?? stem, columns: RecordShape([part]).columns)
    }
  }

  private static func subject(_ visit: ConsoleVisit) throws(Failure) -> Subject {
    let name = visit.call.text("subject")
    guard let subject = subjects(visit).first(where: { $0.name == name }) else { throw .notFound }
    return subject
  }

  // MARK: Overview

  private static func overview(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let app = try await visit.read("apps", visit.place).json
    let chosen = app["chosen"]?.array?.compactMap(\.string) ?? []
    var page = ConsolePage("Settings", section: .settings)
    var table = ConsoleTable(
      "Subjects",
      [.init("Subject"), .init("Changed from the default"), .init("Settings", isNumber: true)])
    for subject in subjects(visit) {
      let changed = subject.columns.map(\.name).filter(chosen.contains)
      table.rows.append([
        Part.link(subject.label, to: visit.path("settings", subject.name)),
        "\(changed.joined(separator: ", "))", "\(subject.columns.count)",
      ])
    }
    page.body = [table.markup]
    page.commands = ["dossier app show --app \(visit.place)"]
    return page
  }

  // MARK: One subject

  private static func show(
    _ visit: ConsoleVisit, _ typed: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let subject = try subject(visit)
    let answer = try await visit.read("apps", visit.place)
    let section: ConsoleSection = subject.name == "branding" ? .branding : .settings
    var page = ConsolePage(subject.label, section: section)
    page.back = ConsoleLink("Settings", to: visit.path("settings"))
    page.mistakes = mistakes
    let values = answer.json["settings"]?.object
    let form = RecordForm(columns: subject.columns)
    if visit.right >= .admin {
      page.body = [
        Part.card(
          nil,
          Part.form(
            visit.target(visit.path("settings", subject.name), [.version(answer.version)]),
            isWide: true,
            """
            \(form.fields(values, typed).markup(mistakes))\
            \(Part.buttons(Part.submit("Save changes")))
            """))
      ]
    } else {
      page.body = [
        Part.card(
          nil,
          Part.definitions(
            subject.columns.map { column in
              (
                column.name,
                Part.name(RecordForm.text(of: values?[column.name] ?? .null, column.rule))
              )
            }))
      ]
    }
    page.body.append(Part.paragraph("A change takes effect within 10 seconds.", isMuted: true))
    let names = subject.columns.map(\.name)
    page.body.append(
      try await ObjectHistory.card("app_change", visit) { detail in
        names.contains { detail["settings"]?[$0] != nil }
      })
    page.commands = ["dossier app set --app \(visit.place) NAME=VALUE"]
    return page
  }

  private static func save(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let subject = try subject(visit)
    let answer = try await visit.read("apps", visit.place)
    let fields = RecordForm(columns: subject.columns)
    let values = answer.json["settings"]?.object
    let (patch, mistakes) = fields.patch(form, values)
    guard mistakes.isEmpty else {
      return .refused(try await show(visit, form, mistakes: mistakes), .unprocessable)
    }
    let next = visit.path("settings", subject.name)
    guard patch.count > 0 else { return .done(next, "Nothing has changed.") }
    guard form.version == answer.version else {
      let first = Mistake(
        "The app has changed since you opened this page. Nothing was saved; check the values and "
          + "save again.")
      return .refused(
        try await show(
          visit, form, mistakes: [first] + fields.differences(of: patch, from: values)),
        .preconditionFailed)
    }
    var request = ConsoleRequest(.patch, "apps", visit.place)
    (request.body, request.version) = (["settings": .object(patch)], answer.version)
    let names = subject.columns.map(\.name)
    let pointers = Dictionary(uniqueKeysWithValues: names.map { ("/settings/\($0)", $0) })
    return try await visit.submit(request, names, naming: pointers) { _ in
      .done(next, "Saved: \(patch.keys.joined(separator: ", ")).")
    } orShow: { (mistakes) async throws(Failure) in
      try await show(visit, form, mistakes: mistakes)
    }
  }
}
