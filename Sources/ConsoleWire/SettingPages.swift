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
      "/console/{app}/settings/{subject}", limit: 262_144,
      "List the changes of a subject before they are applied", check),
  ]

  /// The part of the settings that a subject has.
  struct Subject {
    let name: String
    let label: String
    let columns: [Column]

    /// The section of the navigation that has the page of the subject.
    var section: ConsoleSection { name.hasSameBytes(as: "branding") ? .branding : .settings }

    /// Returns the path of the page of the subject.
    @EventLoop func path(_ visit: ConsoleVisit) -> LocalPath {
      section == .branding ? visit.path("branding") : visit.path("settings", name)
    }
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

  static func subject(_ visit: ConsoleVisit) throws(Failure) -> Subject {
    try subject(visit, named: visit.call.text("subject"))
  }

  static func subject(_ visit: ConsoleVisit, named name: String) throws(Failure) -> Subject {
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
        Part.link(subject.label, to: subject.path(visit)),
        "\(changed.map { "\(Part.setting($0))<br>" as Markup })", "\(subject.columns.count)",
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
    var page = ConsolePage(subject.label, section: subject.section)
    page.back = ConsoleLink("Settings", to: visit.path("settings"))
    page.mistakes = mistakes
    let values = answer.json["settings"]?.object
    let form = RecordForm(columns: subject.columns)
    let events = try await ObjectHistory.events("app_change", visit)
    if let changed = changed(visit, subject, answer, events) {
      page.hasTimes = true
      page.body = [changed]
    }
    if visit.right >= .admin {
      page.body.append(
        Part.card(
          nil,
          Part.form(
            visit.target(visit.path("settings", subject.name), [.version(answer.version)]),
            isWide: true,
            """
            \(form.fields(values, typed).markup(mistakes))\
            \(Part.buttons(Part.submit("Check the changes")))
            """)))
    } else {
      page.body.append(Part.card(nil, form.definitions(values)))
      page.body.append(Part.paragraph("An admin or owner can change settings.", isMuted: true))
    }
    let names = subject.columns.map(\.name)
    page.body.append(
      ObjectHistory.card("app_change", of: events, visit) { detail in
        names.contains { detail["settings"]?[$0] != nil }
      })
    page.commands = ["dossier app set --app \(visit.place) NAME=VALUE"]
    return page
  }

  /// Returns the settings that differ from their defaults, each with its last change and a reset.
  ///
  /// - Returns: nil if all have their defaults.
  private static func changed(
    _ visit: ConsoleVisit, _ subject: Subject, _ app: ConsoleAnswer, _ events: [JSON]
  ) -> Markup? {
    let chosen = app.json["chosen"]?.array?.compactMap(\.string) ?? []
    let columns = subject.columns.filter { column in
      chosen.contains { $0.hasSameBytes(as: column.name) }
    }
    guard !columns.isEmpty else { return nil }
    var table = ConsoleTable(
      "Changed from the default",
      [.init("Setting"), .init("Value"), .init("Default", isMinor: true), .init("Last change")]
        + (visit.right >= .admin ? [.init("Action")] : []))
    for column in columns {
      let last = events.first { $0["detail"]?["settings"]?[column.name] != nil }
      var row = [
        Part.setting(column.name), text(app.json["settings"]?[column.name] ?? .null, column),
        text(column.usual, column),
        last.map {
          "\(Part.time($0["at"]?.string)) \(AuditPages.actor(of: $0))" as Markup
        } ?? Part.muted("not among the last 100 changes"),
      ]
      if visit.right >= .admin {
        let target = visit.target(
          visit.path("settings", subject.name, "reset"), [HiddenField("setting", column.name)])
        row.append(Part.button("Reset", target))
      }
      table.rows.append(row)
    }
    return "<h2>Changed from the default</h2>\(table.markup)"
  }

  /// Returns a value as a table shows it, with at most so many characters.
  static func text(_ value: JSON, _ column: Column, upTo most: Int = 100) -> Markup {
    let text = column.has(.secret) ? "…" : RecordForm.text(of: value, column.rule)
    return text.isEmpty ? Part.muted("empty") : Part.name(text.excerpt(most))
  }

  /// Shows the plan of the changes, which nothing has stored yet.
  private static func check(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    try visit.require(.admin)
    let subject = try subject(visit)
    let answer = try await visit.read("apps", visit.place)
    let fields = RecordForm(columns: subject.columns)
    let values = answer.json["settings"]?.object
    var (changes, mistakes) = fields.patch(form, values)
    mistakes += DraftApp(answer, with: changes, visit).mistakes
    guard mistakes.isEmpty else {
      return .refused(try await show(visit, form, mistakes: mistakes), .unprocessable)
    }
    guard changes.count > 0 else { return .done(subject.path(visit), "Nothing has changed.") }
    guard form.version == answer.version else {
      let first = Mistake(
        "The app has changed since you opened this page. Nothing was saved; check the values and "
          + "save again.")
      return .refused(
        try await show(
          visit, form, mistakes: [first] + fields.differences(of: changes, from: values)),
        .preconditionFailed)
    }
    return .refused(SettingPlan.page(visit, subject, changes, answer), .ok)
  }
}
