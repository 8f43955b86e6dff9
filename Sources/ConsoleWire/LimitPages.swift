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
import Tenancy
import WireKit

/// The callers that rate limits refuse now.
@EventLoop enum LimitPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/-/limits", "List the rate limits that refuse attempts", list),
    ConsoleVisit.form("/console/-/limits/reset", below: 1, "Reset rate limits", reset),
  ]

  private nonisolated static let path = LocalPath.console("-", "limits")

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    try await page(visit, FormValues(visit.call.request.query))
  }

  private static func page(
    _ visit: ConsoleVisit, _ values: FormValues?, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let apps = try await visit.read("apps").items.compactMap { $0["name"]?.string }
    let chosen = apps.first { $0.hasSameBytes(as: values?["app"] ?? "") }
    guard let app = chosen ?? apps.first else { throw .unknownApp }
    var request = ConsoleRequest(.get, "rate-limits")
    request.app = app
    let callers = try await visit.send(request).items
    var page = ConsolePage("Limits", section: .limits)
    page.hasTimes = true
    page.mistakes = mistakes
    page.commands = [
      "dossier rate-limit list --app \(app)",
      "dossier rate-limit reset --network ADDRESS --app \(app)",
    ]
    let field = ConsoleField("app", "App", .choice(apps.map { ($0, $0) }), value: app)
    page.body = [
      """
      <form class="filter" method="get" action="\(path.text)">\
      \(field.markup)<button class="secondary">Show</button></form>
      """,
      callers.isEmpty
        ? Part.empty("No limit of this app refuses attempts now.") : table(callers, app, visit),
    ]
    if visit.right >= .support {
      let user = ConsoleField(
        "user", "Email address or id of a user", value: values?["user"] ?? "",
        hint: "Resets the limits of sign-ins, passwords and emails, in all networks.")
      page.body.append(
        Part.card(
          "Reset the limits of a user",
          Part.form(
            target(visit, [HiddenField("app", app)]), isWide: true,
            "\([user].markup(mistakes))\(Part.buttons(Part.submit("Reset")))")))
    }
    return page
  }

  private static func target(_ visit: ConsoleVisit, _ hidden: [HiddenField]) -> FormTarget {
    visit.target(.console("-", "limits", "reset"), hidden)
  }

  private static func table(_ callers: [JSON], _ app: String, _ visit: ConsoleVisit) -> Markup {
    var table = ConsoleTable(
      "Limits that refuse attempts",
      [.init("Network"), .init("Limit"), .init("Last refusal"), .init("Ends")]
        + (visit.right >= .support ? [.init("Action")] : []))
    for caller in callers {
      let network = caller["network"]?.string ?? ""
      var row = [
        Part.identifier(network), Part.name(NameWords.label(caller["limit"]?.string ?? "")),
        Part.time(caller["refused_at"]?.string), Part.time(caller["ends_at"]?.string),
      ]
      if visit.right >= .support {
        row.append(
          Part.button(
            "Reset", target(visit, [HiddenField("app", app), HiddenField("network", network)])))
      }
      table.rows.append(row)
    }
    return table.markup
  }

  private static func reset(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let app = form["app"] ?? ""
    var body = JSONObject()
    if let network = form["network"] {
      body["network"] = .string(network)
    } else {
      let user = form.trimmed("user")
      body[UserID(user) == nil ? "email" : "user_id"] = .string(user)
    }
    var request = ConsoleRequest(.post, "rate-limits", "reset")
    (request.body, request.app) = (.object(body), app)
    let names = ["/email": "user", "/user_id": "user", "": "user"]
    return try await visit.submit(request, ["user"], naming: names) { answer in
      .done(
        .console("-", "limits", query: [("app", app)]),
        ResetLimits.sentence(answer.json["reset"]?.number?.int ?? 0))
    } orShow: { (mistakes) async throws(Failure) in
      try await page(visit, form, mistakes: mistakes)
    }
  }
}
