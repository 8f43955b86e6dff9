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

  private static func outbox(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let mails = try await visit.read("mails", query: [("limit", "50"), ("cursor", visit.cursor)])
    var page = ConsolePage("Outbox", section: .outbox)
    page.hasTimes = true
    page.commands = ["dossier mail list", "dossier mail retry"]
    page.body = [
      Part.paragraph(
        "An email is here only until the mail server accepts it. It is then deleted, since it may have "
          + "a code or a link. One that is refused is tried again for up to 24 hours. What was sent is "
          + "in the log of the mail server.",
        isMuted: true)
    ]
    guard !mails.items.isEmpty else {
      page.body.append(Part.empty("No email waits."))
      return page
    }
    page.actions = [
      Part.button("Try all again", visit.target(.console("-", "outbox", "retry")))
    ]
    var table = ConsoleTable(
      "Emails that wait",
      [
        .init("To"), .init("Kind"), .init("App"), .init("Attempts", isNumber: true),
        .init("Next attempt"), .init("Last answer"), .init("Action"),
      ])
    for mail in mails.items {
      let hidden = [HiddenField("mail", mail["id"]?.string ?? "")]
      let retry = Part.button("Try again", visit.target(.console("-", "outbox", "retry"), hidden))
      let drop = Part.button("Delete", visit.target(.console("-", "outbox", "drop"), hidden))
      table.rows.append([
        Part.address(mail["to"]?.string ?? "unreadable"), Part.name(mail["kind"]?.string ?? ""),
        Part.name(mail["app"]?.string ?? ""), "\(mail["attempts"]?.text ?? "")",
        Part.time(mail["next_attempt_at"]?.string), Part.name(mail["last_error"]?.string ?? ""),
        #"<div class="actions">\#(retry)\#(drop)</div>"#,
      ])
    }
    page.body.append(table.markup)
    page.body += visit.pager(mails) { .console("-", "outbox", query: $0) }
    return page
  }
}
