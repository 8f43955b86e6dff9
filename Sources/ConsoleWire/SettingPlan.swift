import ConsoleKit
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import OpenID
import Pages
import Records
import Runtime
import Tenancy
import WireKit

/// The plan of a change of settings, which is shown before it is applied: old, new and effect.
@EventLoop enum SettingPlan {
  nonisolated static let routes = [
    ConsoleVisit.form(
      "/console/{app}/settings/{subject}/apply", below: 1, limit: 262_144,
      "Change the settings of a plan", apply),
    ConsoleVisit.form(
      "/console/{app}/settings/{subject}/reset", below: 1, "Show the plan of a reset"
    ) { (visit, form) async throws(Failure) in
      let subject = try SettingPages.subject(visit)
      let name = form["setting"] ?? ""
      guard subject.columns.contains(where: { $0.name.hasSameBytes(as: name) }) else {
        throw .notFound
      }
      let app = try await visit.read("apps", visit.place)
      return .refused(page(visit, subject, JSONObject([(name, .null)]), app), .ok)
    },
  ]

  /// Returns the page of a plan.
  ///
  /// - Parameters:
  ///   - visit: the request.
  ///   - subject: the settings.
  ///   - changes: a merge patch of the settings.
  ///   - app: the app as it is stored.
  ///   - mistakes: the errors of an earlier try.
  /// - Returns: the page, whose form applies the plan to this version of the app.
  static func page(
    _ visit: ConsoleVisit, _ subject: SettingPages.Subject, _ changes: JSONObject,
    _ app: ConsoleAnswer, mistakes: [Mistake] = []
  ) -> ConsolePage {
    var page = ConsolePage("Check the changes", section: subject.section)
    page.back = ConsoleLink(subject.label, to: subject.path(visit))
    page.mistakes = mistakes
    var table = ConsoleTable("Changes", [.init("Setting"), .init("Now"), .init("After")])
    let values = app.json["settings"]?.object
    for (name, value) in changes {
      guard let column = subject.columns.first(where: { $0.name.hasSameBytes(as: name) }) else {
        continue
      }
      let now = values?[name] ?? column.usual
      let after = value.object.map { .object((now.object ?? JSONObject()).merging($0)) } ?? value
      table.rows.append([
        Part.setting(name), shown(now, column),
        value == .null
          ? "\(shown(column.usual, column)) \(Part.tag("default"))" : shown(after, column),
      ])
    }
    let hidden = [
      HiddenField.version(app.version), HiddenField("changes", JSON.object(changes).text),
    ]
    page.body = [
      table.markup,
      Part.paragraph("They take effect within 10 seconds.", isMuted: true),
      Part.form(
        visit.target(visit.path("settings", subject.name, "apply"), hidden),
        Part.buttons(
          Part.submit(subject.section == .branding ? "Publish" : "Apply"),
          Part.link("Discard", to: subject.path(visit), style: .secondary))),
    ]
    page.commands = [
      "dossier app set --app \(visit.place) "
        + changes.map { "\($0)=\($1 == .null ? "null" : "VALUE")" }.joined(separator: " ")
    ]
    return page
  }

  private static func shown(_ value: JSON, _ column: Column) -> Markup {
    SettingPages.text(value, column, upTo: 300)
  }

  private static func apply(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let subject = try SettingPages.subject(visit)
    guard let changes = (try? JSON.parse(Array((form["changes"] ?? "").utf8)))?.object,
      let version = form.version
    else { throw .formForged }
    // The form has the settings of its page only.
    let names = subject.columns.map(\.name)
    guard changes.keys.allSatisfy({ name in names.contains { $0.hasSameBytes(as: name) } }) else {
      throw .formForged
    }
    var request = ConsoleRequest(.patch, "apps", visit.place)
    (request.body, request.version) = (["settings": .object(changes)], version)
    let saved = changes.keys.map(NameWords.label).joined(separator: ", ")
    return try await visit.submit(request, []) { _ in
      .done(subject.path(visit), "Saved: \(saved).")
    } orShow: { (mistakes) async throws(Failure) in
      let app = try await visit.read("apps", visit.place)
      let moved =
        app.version == version
        ? []
        : [
          Mistake(
            "The app has changed since you opened the page. Nothing was saved; check the changes "
              + "again.")
        ]
      return page(visit, subject, changes, app, mistakes: moved.isEmpty ? mistakes : moved)
    }
  }
}
