import Administration
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

/// The pages of the whole deployment.
@EventLoop enum DeploymentPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/-/apps", "List the apps", apps),
    ConsoleVisit.page("/console/-/menu", "Show the sections of the deployment") { visit in
      ConsoleResponses.shell.menu(visit.frame)
    },
    ConsoleVisit.page("/console/-/outbox", "List the emails that wait", outbox),
    ConsoleVisit.form("/console/-/outbox/retry", below: 1, "Try emails again") {
      (visit, form) async throws(Failure) in
      let mail = form["mail"] ?? ""
      let path = mail.isEmpty ? ["mails", "retry"] : ["mails", mail, "retry"]
      _ = try await visit.send(ConsoleRequest(.post, path))
      return .done(.console("-", "outbox"), "The next attempt begins at once.")
    },
    ConsoleVisit.form("/console/-/outbox/drop", below: 1, "Delete an email that waits") {
      (visit, form) async throws(Failure) in
      _ = try await visit.send(ConsoleRequest(.delete, "mails", form["mail"] ?? ""))
      return .done(.console("-", "outbox"), "The email is deleted, and is not sent.")
    },
  ]

  // MARK: The deployment

  private static func apps(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    var page = ConsolePage("Apps", section: .apps)
    page.hasTimes = true
    page.commands = ["dossier app list"]
    var table = ConsoleTable("Apps", [.init("App"), .init("Hosts"), .init("Id"), .init("Created")])
    for app in try await visit.read("apps").items {
      let name = app["name"]?.string ?? ""
      let hosts = app["hosts"]?.array?.compactMap(\.string) ?? []
      table.rows.append([
        Part.link(name, to: .console(name)), "\(hosts.joined(separator: ", "))",
        Part.identifier(app["id"]?.string ?? ""), Part.time(app["created_at"]?.string),
      ])
    }
    page.body = [table.markup]
    return page
  }

  private static let states = [("", "Waiting or given up"), ("sent", "Sent"), ("failed", "Failed")]

  private static func outbox(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let form = FormValues(visit.call.request.query)
    let state = states.first { $0.0 == form?["state"] }?.0 ?? ""
    let app = form?.trimmed("app") ?? ""
    var page = ConsolePage("Outbox", section: .outbox)
    page.hasTimes = true
    let flags = [("state", state), ("app", app)].filter { !$0.1.isEmpty }
      .map { " --\($0) \(CommandLineText.quoted($1))" }.joined()
    page.commands = ["dossier mail list\(flags)", "dossier mail retry"]
    page.body = [
      Part.paragraph(
        "An email waits here until the mail server accepts it. One that is refused is tried again for up "
          + "to 24 hours. The result is listed for 7 days, without the text, codes and links.",
        isMuted: true)
    ]
    let fields = [
      ConsoleField("state", "State", .choice(states), value: state),
      ConsoleField("app", "App", value: app),
    ]
    let mails: ConsoleAnswer
    do throws(Failure) {
      mails = try await visit.read(
        "mails",
        query: [("state", state), ("app", app), ("limit", "50"), ("cursor", visit.cursor)])
    } catch {
      guard error.isMendable || error.type.kind == .notFound else { throw error }
      visit.call.failure = error
      page.mistakes = [Mistake("No app has this name.", field: "app")]
      page.body.append(filter(fields.markup(page.mistakes)))
      return page
    }
    page.body.append(filter(fields.markup([])))
    guard !mails.items.isEmpty else {
      page.body.append(
        Part.empty(
          state.isEmpty ? "No email waits." : "No email of the last 7 days is in this state."))
      return page
    }
    if state.isEmpty, app.isEmpty {
      page.actions = [
        Part.button("Try all again", visit.target(.console("-", "outbox", "retry")))
      ]
    }
    page.body.append(table(of: mails.items, visit))
    page.body += visit.pager(mails) {
      .console("-", "outbox", query: [("state", state), ("app", app)] + $0)
    }
    return page
  }

  private static func filter(_ fields: Markup) -> Markup {
    """
    <form class="filter" method="get" action="\(LocalPath.console("-", "outbox").text)">\
    \(fields)\(Part.submit("Apply", .secondary))</form>
    """
  }

  /// Returns emails as a table, with the actions on those in the queue.
  private static func table(of mails: [JSON], _ visit: ConsoleVisit) -> Markup {
    var table = MailTable.start("Emails", [.init("App"), .init("Action")])
    for mail in mails {
      let hidden = [HiddenField("mail", mail["id"]?.string ?? "")]
      let retry = Part.button("Try again", visit.target(.console("-", "outbox", "retry"), hidden))
      let drop = Part.button("Delete", visit.target(.console("-", "outbox", "drop"), hidden))
      let app = mail["app"]?.string ?? ""
      let isQueued = mail["ended_at"]?.string == nil
      table.rows.append(
        MailTable.row(of: mail, user: mail["user_id"]?.string.map { .console(app, "users", $0) })
          + [
            Part.name(app),
            isQueued ? #"<div class="actions">\#(retry)\#(drop)</div>"# : "",
          ])
    }
    return table.markup
  }
}
