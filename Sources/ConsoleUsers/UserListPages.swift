import Administration
import ConsoleKit
import ConsolePages
import Encoding
package import EventLoop
import HTTP
import HostedPages
package import JSON
package import Pages
import Runtime
import WireKit

/// The list of users, and the form of a new user.
@EventLoop package enum UserListPages {
  nonisolated static let routes = [
    ConsoleVisit.lead("/console/{app}/users", "List users", list),
    ConsoleVisit.page("/console/{app}/users/new", for: .admin, "Show the form of a new user") {
      visit in
      newPage(visit)
    },
    ConsoleVisit.form("/console/{app}/users/new", for: .admin, "Create a user", create),
    ConsoleVisit.posted(
      "/console/{app}/users/export", below: 1, for: .admin, isRecent: true,
      "Export the list of users"
    ) { (visit, form) async throws(Failure) in
      let filter = UserFilter(form)
      var request = ConsoleRequest(.get, "users", "export")
      request.query = [("filter", filter.text), ("sort", filter.sort)]
      return try await visit.response(to: request)
    },
  ]

  /// The users on a page.
  private static let count = "50"

  // MARK: The list

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleOutcome {
    let query = FormValues(visit.call.request.query)
    let filter = UserFilter(query)
    var page = ConsolePage("Users", section: .users)
    if visit.right >= .admin {
      page.actions = [
        Part.link("Create user", to: visit.path("users", "new"), style: .primary),
        Part.button("Export CSV", visit.target(visit.path("users", "export"), filter.hidden)),
      ]
    }
    if visit.right >= .support {
      page.actions.append(
        Part.link(
          "Why can a user not sign in?", to: visit.path("sign-in-check"), style: .secondary))
    }
    page.commands = ["dossier user list --app \(visit.place)\(filter.flags)"]
    page.hasTimes = true
    let found: ConsoleAnswer
    do throws(Failure) {
      found = try await visit.read(
        "users",
        query: [
          ("filter", filter.text), ("sort", filter.sort), ("limit", count),
          ("cursor", visit.cursor), ("total", countsMatches(filter, visit) ? "estimate" : ""),
        ])
    } catch {
      let isRefused = error.is(.roleInsufficient)
      guard error.isMendable || error.is(.searchTooSlow) || isRefused else { throw error }
      visit.call.failure = error
      page.mistakes = mistakes(of: error)
      page.body = [filter.form(visit, page.mistakes)]
      if let paths = error.members.first(where: { $0.name == "indexed" })?.value.array {
        page.body.append(
          Part.card(
            "Paths with an index",
            """
            \(Part.list(paths.compactMap(\.string)))\
            \(Part.link("Indexes", to: visit.path("indexes"), style: .secondary))
            """))
      }
      return .refused(page, isRefused ? .forbidden : .unprocessable)
    }
    let users = found.items
    if users.isEmpty, filter.text.isEmpty, visit.cursor.isEmpty {
      page.body = [
        Part.empty(
          "You don't have any users yet.",
          visit.right >= .admin
            ? Part.link("Create user", to: visit.path("users", "new"), style: .primary)
            : Part.muted("A user appears here after the first sign-in."))
      ]
      return .refused(page, .ok)
    }
    page.body.append(filter.form(visit, []))
    if users.isEmpty {
      page.body.append(
        Part.empty(
          "No user matches \(filter.text.isEmpty ? "this page" : filter.text).",
          Part.link("Remove filter", to: visit.path("users"), style: .secondary)))
      if visit.right >= .support {
        page.body.append("<p>\(SearchPages.similar(to: "", in: visit.place))</p>")
      }
      return .refused(page, .ok)
    }
    if visit.cursor.isEmpty {
      let total: String?
      if found.next == nil {
        total = words(for: users.count)
      } else if let matches = found.total.map(words(forMatches:)) {
        total = matches
      } else {
        total = try await self.total(visit, users.count)
      }
      if let total { page.body.append(Part.paragraph(total, isMuted: true)) }
    }
    let isBulk = visit.right >= .admin
    page.body.append(table(of: users, in: visit.place, isBulk: isBulk))
    page.body.append(
      isBulk
        ? BulkPages.form(filter, visit)
        : Part.paragraph(
          "An admin or owner can create users, export this list as CSV, and change many users at once.",
          isMuted: true))
    page.body += visit.pager(found) { visit.path("users", query: filter.query + $0) }
    return .refused(page, .ok)
  }

  /// Returns an exact number of users in words.
  private static func words(for count: Int) -> String { count == 1 ? "1 user" : "\(count) users" }

  /// Whether the page shows how many users match: its first part, of a filter.
  private static func countsMatches(_ filter: UserFilter, _ visit: ConsoleVisit) -> Bool {
    !filter.text.isEmpty && visit.cursor.isEmpty
  }

  /// Returns a field `Total-Count` in words.
  private static func words(forMatches total: String) -> String {
    let parts = total.split(separator: ";")
    let number = parts.first.flatMap { Int($0) } ?? 0
    return parts.count > 1 ? "At least \(words(for: number))" : words(for: number)
  }

  /// Returns the number of users of the last night in words; nil if the list has more already.
  private static func total(
    _ visit: ConsoleVisit, _ listed: Int
  ) async throws(Failure) -> String? {
    let today = DailyCounter.day(Timestamp.now.seconds / 86_400)
    let found = try await visit.read("statistics", query: [("from", today), ("to", today)]).json
    guard let count = found["users"]?.number?.int, count > listed,
      let day = found["users_on"]?.string
    else { return nil }
    return "About \(words(for: count)) on \(day)"
  }

  private static func mistakes(of failure: Failure) -> [Mistake] {
    if failure.is(.searchTooSlow) {
      return [Mistake("The search took too long. Add a term with an index.", field: "filter")]
    }
    if failure.is(.roleInsufficient) {
      let rule = "Your role cannot read documents, so a filter cannot test them."
      return [Mistake(rule, field: "filter")]
    }
    return failure.mistakes(["filter"], naming: ["filter": "filter"]).map {
      Mistake($0.text, field: "filter")
    }
  }

  /// Returns users as a table.
  ///
  /// - Parameters:
  ///   - users: the users.
  ///   - app: the app of the users.
  ///   - isBulk: whether each has a box by which the form of `BulkPages` chooses it.
  /// - Returns: the table.
  package static func table(of users: [JSON], in app: String, isBulk: Bool = false) -> Markup {
    var table = ConsoleTable(
      "Users",
      [
        .init("User"), .init("State"), .init("Name", isMinor: true), .init("ID"), .init("Created"),
      ])
    for user in users {
      let id = user["id"]?.string ?? ""
      let label = UserPages.heading(of: user)
      let link: Markup =
        #"\#(isBulk ? BulkPages.checkbox(for: id) : "")<a href="\#(LocalPath.console(app, "users", id).text)">\#(label)</a>"#
      table.rows.append([
        link, UserPages.tags(of: user).first ?? "", Part.name(user["name"]?.string ?? ""),
        Part.identifier(id), Part.time(user["created_at"]?.string),
      ])
    }
    return table.markup
  }

  // MARK: A new user

  private static func newPage(
    _ visit: ConsoleVisit, _ form: FormValues? = nil, mistakes: [Mistake] = []
  ) -> ConsolePage {
    var page = ConsolePage("Create user", section: .users)
    page.back = ConsoleLink("Users", to: visit.path("users"))
    page.mistakes = mistakes
    var fields = [
      ConsoleField("email", "Email address", .email, value: form?.text("email") ?? ""),
      ConsoleField(
        "password", "Password", .password(isNew: true),
        hint: "Leave it empty, and the next page can email the user a link to set one."),
      ConsoleField(
        "connection", "Connection",
        .choice([("Username-Password-Authentication", "Username-Password-Authentication")])),
      ConsoleField("name", "Name", value: form?.text("name") ?? "", hint: "May stay empty."),
      ConsoleField(
        "email_verified", "The address is verified", .checkbox,
        value: form?["email_verified"] ?? ""),
    ]
    fields[0].isFocused = mistakes.isEmpty
    page.body = [
      Part.card(
        nil,
        Part.form(
          visit.target(visit.path("users", "new")), isWide: true,
          """
          \(fields.markup(mistakes))\
          \(Part.buttons(
            Part.submit("Create"),
            Part.link("Cancel", to: visit.path("users"), style: .secondary)))
          """))
    ]
    page.commands = ["dossier user create email=ADDRESS --app \(visit.place)"]
    return page
  }

  private static func create(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let email = form.trimmed("email")
    var body = JSONObject([("email", .string(email))])
    if email.isEmpty {
      let mistakes = [Mistake("Enter an email address.", field: "email")]
      return .refused(newPage(visit, form, mistakes: mistakes), .unprocessable)
    }
    if !form.text("password").isEmpty { body["password"] = .string(form.text("password")) }
    if !form.trimmed("name").isEmpty { body["name"] = .string(form.trimmed("name")) }
    if form["email_verified"] != nil { body["email_verified"] = true }
    var request = ConsoleRequest(.post, "users")
    request.body = .object(body)
    let hasPassword = body["password"] != nil
    return try await visit.submit(request, ["email", "password", "name"]) { made in
      let id = made.json["id"]?.string ?? ""
      return hasPassword
        ? .done(visit.path("users", id), "Created", name: email)
        : .done(
          visit.path("users", id, "sign-in"),
          "No email was sent yet. “Email a link to a new password” lets the user set one. Created",
          name: email)
    } orShow: { mistakes in
      newPage(visit, form, mistakes: mistakes)
    }
  }
}
