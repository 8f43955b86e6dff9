import Administration
import ConsoleKit
import ConsolePages
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Permissions
import Records
import Runtime
import WireKit

/// The roles of an app, with their permissions and their users.
@EventLoop enum RolePages {
  private nonisolated static let pages = RecordPages(
    section: .roles, words: RoleRecord.words, shape: RoleRecord.table.shape,
    title: "name", key: "id", creation: nil, listed: ["description"],
    one: "role", none: "This app has no roles. A role is a named set of permissions.",
    labels: ["name": "Name", "description": "Description"], tabs: tabs)

  private nonisolated static let path = "/console/{app}/roles/{record}"

  private nonisolated static let permissions = ScopePages(
    "\(path)/permissions", of: "a role",
    meaning: "Users of the role get these permissions. Tokens get them at their next refresh.",
    head: { (visit) async throws(Failure) in
      pages.head(of: try await pages.read(visit).json, visit, tab: "permissions")
    },
    stored: { (visit) async throws(Failure) in
      ConsoleVisit.scopes(in: try await visit.read("roles", pages.id(visit), "permissions").items)
    },
    at: { visit, api in ["roles", pages.id(visit), "permissions", api] },
    commands: { visit in
      ["dossier role permit \(pages.id(visit)) IDENTIFIER --scope SCOPE --app \(visit.place)"]
    })

  nonisolated static let routes =
    pages.routes + permissions.routes + [
      ConsoleVisit.page("\(path)/users", "List the users of a role") {
        (visit) async throws(Failure) in try await users(visit)
      },
      ConsoleVisit.form("\(path)/users", for: .admin, "Give a user the role", add),
      ConsoleVisit.form(
        "\(path)/users/remove", below: 1, for: .admin, "Take the role from a user", remove),
    ]

  private static func tabs(_ visit: ConsoleVisit, _ current: String) -> [ConsoleTab] {
    [
      ConsoleTab("Settings", to: pages.recordPath(visit), isCurrent: current.isEmpty),
      ConsoleTab(
        "Permissions", to: pages.recordPath(visit, "permissions"),
        isCurrent: current == "permissions"),
      ConsoleTab("Users", to: pages.recordPath(visit, "users"), isCurrent: current == "users"),
    ]
  }

  // MARK: Users

  /// The users in a part of the list.
  private static let count = "50"

  private static func users(
    _ visit: ConsoleVisit, _ form: FormValues? = nil, mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    var page = pages.head(of: try await pages.read(visit).json, visit, tab: "users")
    page.mistakes = mistakes
    page.commands = ["dossier role users \(pages.id(visit)) --app \(visit.place)"]
    let members = try await visit.read(
      "roles", pages.id(visit), "users", query: [("limit", count), ("cursor", visit.cursor)])
    let ids = members.items.compactMap { $0["id"]?.string }
    let names = try await AuditNames.read(
      of: [], users: ids.compactMap { UserID($0) }, visit.context)
    let mayChange = visit.right >= .admin
    var columns: [ConsoleTable.Column] = [.init("User"), .init("ID", isMinor: true)]
    if mayChange { columns.append(.init("Action")) }
    var table = ConsoleTable("Users", columns)
    for id in ids {
      let name = UserID(id).flatMap { names.name(of: $0) } ?? "Guest \(NameWords.short(id))"
      var row: [Markup] = [
        #"<a href="\#(visit.path("users", id).text)">\#(Part.address(name))</a>"#,
        Part.identifier(id),
      ]
      if mayChange {
        row.append(
          Part.form(
            visit.target(pages.recordPath(visit, "users", "remove"), [HiddenField("user", id)]),
            """
            <button class="secondary">Remove<span class="hidden"> \(name)</span></button>
            """))
      }
      table.rows.append(row)
    }
    page.body = [
      ids.isEmpty
        ? Part.empty(visit.cursor.isEmpty ? "No user has this role." : "There are no more users.")
        : table.markup
    ]
    page.body += visit.pager(members) { parameters in
      .console([visit.place, "roles", pages.id(visit), "users"], query: parameters)
    }
    guard mayChange else {
      page.body.append(Part.paragraph("An admin or owner can change the users.", isMuted: true))
      return page
    }
    let field = ConsoleField(
      "user", "User", value: form?["user"] ?? "", hint: "The email address or the ID.")
    page.body.append(
      Part.card(
        "Add a user",
        Part.form(
          visit.target(pages.recordPath(visit, "users")), isWide: true,
          "\([field].markup(mistakes))\(Part.buttons(Part.submit("Add")))")))
    return page
  }

  private static func add(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let text = form.trimmed(named: "user")
    guard !text.isEmpty else { return try await refusal(visit, form, "Enter an address or an ID.") }
    let found =
      UserID(text) == nil ? try await visit.user(withAddress: text) : text.lowercased()
    let unknown = "No user of this app has it."
    guard let user = found else { return try await refusal(visit, form, unknown) }
    do throws(Failure) {
      _ = try await visit.send(ConsoleRequest(.put, "users", user, "roles", pages.id(visit)))
      return .done(pages.recordPath(visit, "users"), "The user has the role:", name: text)
    } catch {
      if error.is(.notFound) { return try await refusal(visit, form, unknown) }
      guard error.isMendable else { throw error }
      visit.call.failure = error
      let page = try await users(visit, form, mistakes: error.mistakes(["user"]))
      return .refused(page, .unprocessable)
    }
  }

  private static func refusal(
    _ visit: ConsoleVisit, _ form: FormValues, _ text: String
  ) async throws(Failure) -> ConsoleOutcome {
    let mistakes = [Mistake(text, field: "user")]
    return .refused(try await users(visit, form, mistakes: mistakes), .unprocessable)
  }

  private static func remove(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let user = form["user"] ?? ""
    _ = try await visit.send(ConsoleRequest(.delete, "users", user, "roles", pages.id(visit)))
    return .done(pages.recordPath(visit, "users"), "The user no longer has the role.")
  }
}
