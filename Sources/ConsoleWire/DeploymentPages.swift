import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The pages of the whole deployment, and the lists of an app that have no forms.
@EventLoop enum DeploymentPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/-/apps", "List the apps", apps),
    ConsoleVisit.page("/console/-/menu", "Show the sections of the deployment") { visit in
      ConsoleResponses.shell.menu(visit.frame)
    },
    ConsoleVisit.lead("/console/-/search", "Find users in the first app") {
      (visit) async throws(Failure) in
      let query = FormValues(visit.call.request.query)?["q"] ?? ""
      return .redirect(.console(visit.context.app.name, "search", query: [("q", query)]))
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
    ConsoleVisit.page("/console/{app}/indexes", "List the search indexes", indexes),
    ConsoleVisit.page("/console/{app}/schemas", "List the schemas of documents", schemas),
    ConsoleVisit.page("/console/{app}/keys", "List the signing keys", keys),
  ]

  // MARK: The deployment

  private static func apps(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    var page = ConsolePage("Apps", section: .apps)
    page.hasTimes = true
    page.commands = ["dossier app list"]
    var table = ConsoleTable("Apps", [.init("App"), .init("Hosts"), .init("Created")])
    for app in try await visit.read("apps").items {
      let name = app["name"]?.string ?? ""
      let hosts = app["hosts"]?.array?.compactMap(\.string) ?? []
      table.rows.append([
        Part.link(name, to: .console(name)), "\(hosts.joined(separator: ", "))",
        Part.time(app["created_at"]?.string),
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
    guard !mails.items.isEmpty else {
      page.body = [Part.empty("No email waits.")]
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
    page.body = [table.markup]
    page.body += visit.pager(mails) { .console("-", "outbox", query: $0) }
    return page
  }

  // MARK: Lists of an app

  private static func indexes(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let items = try await visit.read("indexes").items
    var page = ConsolePage("Indexes", section: .indexes)
    page.hasTimes = true
    var table = ConsoleTable(
      "Indexes", [.init("Path"), .init("State"), .init("Kind"), .init("Created")])
    for item in items {
      let state = item["state"]?.string ?? ""
      table.rows.append([
        Part.identifier(item["path"]?.string ?? ""),
        state == "ready" ? Part.tag("Ready", .success) : Part.tag(state),
        Part.name(item["kind"]?.string ?? ""),
        item["id"]?.string == nil ? Part.muted("always") : Part.time(item["created_at"]?.string),
      ])
    }
    page.body = [
      Part.paragraph("A filter of users needs a term on one of these paths.", isMuted: true),
      table.markup,
    ]
    page.commands = [
      "dossier index list --app \(visit.place)",
      "dossier index create metadata.theme kind=text --app \(visit.place)",
    ]
    return page
  }

  private static func schemas(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let items = try await visit.read("schemas").items
    var page = ConsolePage("Schemas", section: .schemas)
    page.hasTimes = true
    page.commands = [
      "dossier schema list --app \(visit.place)",
      "dossier schema set metadata FILE --app \(visit.place)",
    ]
    guard !items.isEmpty else {
      page.body = [
        Part.empty("Documents of this app may have any form. A schema restricts them.")
      ]
      return page
    }
    for item in items {
      let kind = item["kind"]?.string ?? ""
      let schema = try await visit.read("schemas", kind).json
      page.body.append(Part.card(kind, Part.code(schema.edited, label: kind)))
    }
    return page
  }

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
    page.body = [
      items.isEmpty ? Part.empty("The first sign-in makes the keys.") : table.markup
    ]
    page.commands = [
      "dossier key list --app \(visit.place)", "dossier key rotate --app \(visit.place)",
    ]
    return page
  }
}
