import ConsoleKit
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import Sessions
import WireKit

/// Support access: a user's code opens a view of what the user sees.
///
/// The page shows the view, and not the token of the session. A person who helps needs to see, and a
/// token on a page soon is in a chat. The command line prints it for tools.
@EventLoop enum SupportPages {
  nonisolated static let routes = [
    ConsoleVisit.page(
      "/console/{app}/support", for: .support, isRecent: true, "Ask for the code of a user"
    ) { visit in page(visit) },
    ConsoleVisit.form(
      "/console/{app}/support", for: .support, isRecent: true, "Open a session of support", open),
    ConsoleVisit.page(
      "/console/{app}/support/{session}", "Show what the user of a session of support sees", show),
    ConsoleVisit.form(
      "/console/{app}/support/{session}/end", below: 1, "End a session of support"
    ) { (visit, _) async throws(Failure) in
      do throws(Failure) {
        _ = try await visit.send(
          ConsoleRequest(.delete, "support-sessions", visit.call.text("session")))
      } catch .notFound {
        // The user was first.
      }
      return .done(visit.path("support"), "The session has ended.")
    },
  ]

  private static func page(
    _ visit: ConsoleVisit, _ form: FormValues? = nil, mistakes: [Mistake] = []
  ) -> ConsolePage {
    var page = ConsolePage("Support access", section: .support)
    page.mistakes = mistakes
    page.commands = ["dossier support-session create CODE REASON --app \(visit.place)"]
    let fields = [
      ConsoleField(
        "code", "Code of the user", value: form?["code"] ?? "",
        hint: "The user finds it on the account page, under Support. It works once, for 10 minutes."
      ),
      ConsoleField(
        "reason", "Reason", value: form?["reason"] ?? "",
        hint: "The user reads it in an email, and it is in the audit log."),
    ]
    page.body = [
      Part.paragraph(
        "You then see for 30 minutes what the user sees. You can change nothing, and the user can "
          + "end it at any time."),
      Part.card(
        nil,
        Part.form(
          visit.target(visit.path("support")), isWide: true,
          "\(fields.markup(mistakes))\(Part.buttons(Part.submit("Open the session")))")),
    ]
    return page
  }

  private static func open(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    var request = ConsoleRequest(.post, "support-sessions")
    request.body = [
      "code": .string(form.trimmed("code")), "reason": .string(form.trimmed("reason")),
    ]
    return try await visit.submit(request, ["code", "reason"]) { answer in
      .done(
        visit.path("support", answer.json["id"]?.string ?? ""), "You see what the user sees.")
    } orShow: { mistakes in
      page(visit, form, mistakes: mistakes)
    }
  }

  // MARK: The view

  private static func show(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    var page = ConsolePage("What the user sees", section: .support)
    page.back = ConsoleLink("Support access", to: visit.path("support"))
    let id = visit.call.text("session")
    let view: JSON
    do throws(Failure) {
      view = try await visit.read("support-sessions", id).json
    } catch .notFound {
      page.body = [Part.empty("This session has ended, or is not yours.")]
      return page
    }
    page.hasTimes = true
    page.tags = [Part.tag("Read only")]
    page.actions = [
      Part.button(
        "End the session", visit.target(visit.path("support", id, "end")), style: .primary)
    ]
    page.commands = [
      "dossier support-session show \(id) --app \(visit.place)",
      "dossier support-session end \(id) --app \(visit.place)",
    ]
    let user = view["user_id"]?.string ?? ""
    let data = view["data"]?.object ?? JSONObject()
    page.body = [
      Part.card(
        nil,
        Part.definitions(
          [
            ("User", Part.link(user, to: visit.path("users", user))),
            ("Session ends", Part.time(view["expires_at"]?.string)),
          ] + SupportView.values(data)))
    ]
    if let profile = data["profile"]?.object {
      page.body.append(Part.card("Profile", Part.definitions(SupportView.values(profile))))
    }
    for (name, part) in data where name != "profile" && !isEmpty(part) {
      page.body.append(SupportView.card(name, part))
    }
    return page
  }

  /// Returns whether a part has no card of its own.
  private static func isEmpty(_ part: JSON) -> Bool {
    part.object.map { $0.count == 0 } ?? part.array?.isEmpty ?? true
  }
}
