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

/// The start of the console, the overview of an app, and the menu of narrow windows.
@EventLoop enum OverviewPages {
  nonisolated static let routes = [
    ConsoleVisit.lead("/console", "Lead to an app") { (visit) async throws(Failure) in
      let administrator = visit.session.administrator
      let usual = visit.context.app
      if administrator.mayUse(usual.id) { return .redirect(.console(usual.name)) }
      guard let first = administrator.apps?.first else { return .redirect(.console("-", "apps")) }
      return .redirect(.console(try await visit.context.apps.app(first).name))
    },
    ConsoleVisit.page("/console/{app}", "Show what needs attention", overview),
    ConsoleVisit.page("/console/{app}/menu", "Show the sections") { visit in
      ConsoleResponses.shell.menu(visit.frame)
    },
  ]

  private static func overview(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    var page = ConsolePage("Overview", section: .overview)
    page.hasTimes = true
    let users = try await visit.read("users", query: [("limit", "5")]).items
    let events = try await visit.read(
      "audit", query: [("app", visit.place), ("limit", "8")]
    ).items
    if visit.right >= .deployment {
      let mails = try await visit.read("mails", query: [("limit", "100")]).items
      let stuck = mails.filter { ($0["attempts"]?.number?.int ?? 0) > 0 }
      if !stuck.isEmpty {
        page.body.append(
          Part.warning(
            """
            <p>\(stuck.count == 1 ? "1 email waits" : "\(stuck.count) emails wait") after a failed \
            attempt. \(Part.link("Open the outbox", to: .console("-", "outbox")))</p>
            """))
      }
    }
    let newest: Markup =
      users.isEmpty
      ? Part.empty(
        "You don't have any users yet.",
        visit.right >= .admin
          ? Part.link("Create user", to: visit.path("users", "new"), style: .primary) : nil)
      : UserListPages.table(of: users, in: visit.place)
    page.body.append("<h2>Newest users</h2>")
    page.body.append(newest)
    page.body.append("<h2>Latest events</h2>")
    page.body.append(
      events.isEmpty
        ? Part.empty("Nothing is recorded.")
        : AuditPages.table(of: events) { visit.path("users", $0) })
    page.commands = ["dossier doctor", "dossier audit --app \(visit.place)"]
    return page
  }
}
