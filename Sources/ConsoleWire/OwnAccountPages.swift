import ConsoleKit
import Administration
import ConsolePages
import EventLoop
import HTTP
import HostedPages
import JSON
import Localization
import Pages
import Runtime
import Sessions
import Tenancy
import WireKit

/// The own account of an administrator: sessions, factors, language and keyboard shortcuts.
@EventLoop enum OwnAccountPages {
  private nonisolated static let path = LocalPath.console("-", "me")

  nonisolated static let routes = [
    ConsoleVisit.page(path.text, "Show the account of the administrator") {
      (visit) async throws(Failure) in try await show(visit)
    },
    ConsoleVisit.form(
      "\(path.text)/language", below: 1, "Change the language of emails to the administrator",
      saveLanguage),
    ConsoleVisit.form(
      "\(path.text)/sessions/end", below: 2, "End the other sessions of the administrator"
    ) {
      (visit, _) async throws(Failure) in
      try await ConsoleSessions.endOthers(than: visit.session, visit.context)
      return .done(path, "All other sessions have ended.")
    },
    ConsoleVisit.posted("\(path.text)/keys", below: 1, "Turn keyboard shortcuts on or off") {
      (visit, form) in
      var response = visit.call.redirect(to: path)
      let value = form["keys"] == "true" ? "on" : "off"
      response.add(
        .setCookie,
        Cookie.setting(ConsoleVisit.keysCookie, to: value, for: Cookie.longestLifetime, .lax))
      return response
    },
  ]

  private static func saveLanguage(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let language = form.trimmed("language")
    do throws(Failure) {
      try await ConsoleSessions.setLanguage(
        language.isEmpty ? nil : language, of: visit.session, visit.context)
    } catch {
      guard error.isMendable else { throw error }
      let mistakes = error.mistakes(["language"], naming: ["locale": "language"])
      let page = try await show(visit, mistakes: mistakes)
      return .refused(page, .unprocessable)
    }
    return .done(path, "The language is saved.")
  }

  private static func show(
    _ visit: ConsoleVisit, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let administrator = visit.session.administrator
    var page = ConsolePage("Your account")
    page.hasTimes = true
    page.mistakes = mistakes
    let stored = try await ConsoleSessions.language(of: visit.session, visit.context) ?? ""
    let app = try await visit.context.apps.operators()
    let tags = visit.context.dependencies[AppPages.self].languages(of: app).catalogs.map {
      ($0.language, $0.name)
    }
    let other = stored.isEmpty || tags.contains { $0.0 == stored } ? [] : [(stored, stored)]
    let language = ConsoleField(
      "language", "Language of emails to you", .choice([("", "That of the app")] + tags + other),
      value: stored, hint: "The pages of the console are in English.")
    let (factors, codes) = try await ConsoleSessions.factors(of: visit.session, visit.context)
    var facts: [(label: String, value: Markup)] = [
      ("Email address", Part.address(visit.session.email)),
      ("Role", "\(administrator.role.rawValue)"),
      ("Apps", administrator.apps.map { "\($0.count)" } ?? "all"),
      ("Id", Part.identifier(administrator.id.text)),
    ]
    for factor in factors {
      facts.append(("Authenticator app", Part.time(factor.createdAt.text)))
    }
    facts.append(("Recovery codes left", "\(codes)"))
    var table = ConsoleTable(
      "Sessions",
      [.init("Browser"), .init("State"), .init("Address"), .init("Last use"), .init("Ends")])
    let sessions = try await ConsoleSessions.list(visit.session, visit.context)
    for session in sessions {
      table.rows.append([
        Part.name(session.agent.flatMap { BrowserName($0).label } ?? "Unknown"),
        session.id == visit.session.session ? Part.tag("This one", .success) : "",
        Part.name(session.address ?? ""), Part.time(session.refreshedAt.text),
        Part.time(session.expiresAt.text),
      ])
    }
    let keys = ConsoleField(
      "keys", "Single keys: / goes to the search, ? lists the keys", .checkbox,
      value: visit.hasKeys ? "true" : "", hint: "Ctrl+S saves an editor in any case.")
    page.body = [
      Part.card(nil, Part.definitions(facts)), "<h2>Sessions</h2>", table.markup,
      sessions.count < 2
        ? ""
        : Part.button(
          "End all other sessions", visit.target(.console("-", "me", "sessions", "end"))),
      Part.card(
        "Language",
        Part.form(
          visit.target(.console("-", "me", "language")), isWide: true,
          "\(language.with(mistakes).markup)\(Part.buttons(Part.submit("Save", .secondary)))")),
      Part.card(
        "Keyboard",
        Part.form(
          visit.target(.console("-", "me", "keys")), isWide: true,
          "\(keys.markup)\(Part.buttons(Part.submit("Save", .secondary)))")),
      Part.paragraph(
        "For a new password or authenticator app, ask an owner for a new link, or use the command line.",
        isMuted: true),
    ]
    page.commands = ["dossier administrator link \(visit.session.email)"]
    return page
  }
}
