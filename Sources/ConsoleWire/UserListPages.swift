import Administration
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The list of users, the search, and the form of a new user.
@EventLoop enum UserListPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/users", "List users", list),
    ConsoleVisit.lead("/console/{app}/search", "Find users", search),
    ConsoleVisit.page("/console/{app}/users/new", "Show the form of a new user") { visit in
      newPage(visit)
    },
    ConsoleVisit.form("/console/{app}/users/new", "Create a user", create),
  ]

  /// The users on a page.
  private static let count = "50"

  // MARK: The list

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let query = FormValues(visit.call.request.query)
    var page = ConsolePage("Users", section: .users)
    if visit.right >= .admin {
      page.actions = [
        Part.link("Create user", to: visit.path("users", "new"), style: .primary)
      ]
    }
    let filter = UserFilter(query)
    var found: ConsoleAnswer?
    do throws(Failure) {
      found = try await visit.read(
        "users",
        query: [
          ("filter", filter.text), ("sort", filter.sort), ("limit", count),
          ("cursor", visit.cursor),
        ])
    } catch {
      guard error.isMendable || error.is(.searchTooSlow) else { throw error }
      visit.call.failure = error
      page.mistakes = error.mistakes(["filter"], naming: ["filter": "filter"])
      if error.is(.searchTooSlow) {
        page.mistakes = [
          Mistake("The search took too long. Add a term with an index.", field: "filter")
        ]
      }
    }
    page.commands = ["dossier user list --app \(visit.place)\(filter.flags)"]
    page.hasTimes = true
    let users = found?.items ?? []
    if users.isEmpty, page.mistakes.isEmpty, filter.text.isEmpty, visit.cursor.isEmpty {
      page.body = [
        Part.empty(
          "You don't have any users yet.",
          page.actions.first ?? Part.muted("A user appears here after the first sign-in."))
      ]
      return page
    }
    page.body.append(filter.form(visit, page.mistakes))
    if users.isEmpty {
      if page.mistakes.isEmpty {
        page.body.append(
          Part.empty(
            "No user matches \(filter.text.isEmpty ? "this page" : filter.text).",
            Part.link("Remove filter", to: visit.path("users"), style: .secondary)))
      }
      return page
    }
    let isBulk = visit.right >= .admin
    page.body.append(table(of: users, visit, isBulk: isBulk))
    if isBulk { page.body.append(BulkPages.form(filter, visit)) }
    if let found {
      page.body += visit.pager(found) { visit.path("users", query: filter.query + $0) }
    }
    return page
  }

  /// Returns users as a table.
  ///
  /// - Parameters:
  ///   - users: the users.
  ///   - visit: the visit.
  ///   - isBulk: whether each has a box by which the form of `BulkPages` chooses it.
  /// - Returns: the table.
  static func table(of users: [JSON], _ visit: ConsoleVisit, isBulk: Bool = false) -> Markup {
    var table = ConsoleTable(
      "Users",
      [
        .init("User"), .init("State"), .init("Name", isMinor: true), .init("Id"), .init("Created"),
      ])
    for user in users {
      let id = user["id"]?.string ?? ""
      let label = UserPages.heading(of: user)
      let link: Markup =
        #"\#(isBulk ? BulkPages.checkbox(for: id) : "")<a href="\#(visit.path("users", id).text)">\#(label)</a>"#
      table.rows.append([
        link, UserPages.tags(of: user).first ?? "", Part.name(user["name"]?.string ?? ""),
        Part.identifier(id), Part.time(user["created_at"]?.string),
      ])
    }
    return table.markup
  }

  // MARK: Search

  private static func search(_ visit: ConsoleVisit) async throws(Failure) -> ConsoleOutcome {
    let query = FormValues(visit.call.request.query)?["q"] ?? ""
    let text = query.split { $0.isWhitespace }.joined(separator: " ")
    guard !text.isEmpty else { return .redirect(visit.path("users")) }
    if text.utf8.count == 24, text.utf8.allSatisfy(\.isHexadecimalDigit) {
      do throws(Failure) {
        _ = try await visit.read("users", text.lowercased())
        return .redirect(visit.path("users", text.lowercased()))
      } catch .notFound {
        // It may be an id of something else, or a name.
      }
    }
    var (users, seen): ([JSON], Set<String>) = ([], [])
    for filter in filters(of: text) {
      let found = try await visit.read("users", query: [("filter", filter), ("limit", "20")])
      for user in found.items where seen.insert(user["id"]?.string ?? "").inserted {
        users.append(user)
      }
    }
    let page = results(users, for: text, visit)
    return .refused(page, .ok)
  }

  private static func results(
    _ users: [JSON], for text: String, _ visit: ConsoleVisit
  ) -> ConsolePage {
    var page = ConsolePage(
      "Search: \(text)", heading: "Results for “\(Part.name(text))”", section: .users)
    if users.isEmpty {
      page.body = [
        Part.empty(
          "No user in \(visit.place) has this id, address, name or phone number. Text inside a word "
            + "is not searched.",
          Part.link("All users", to: visit.path("users"), style: .secondary))
      ]
    } else {
      page.body = [table(of: users, visit)]
      page.hasTimes = true
    }
    return page
  }

  /// Returns the filters for a text: an address, a domain, or the start of a name.
  private static func filters(of text: String) -> [String] {
    let value = JSON.string(text).text
    if text.utf8.first == UInt8(ascii: "@") {
      return ["email_domain = \(JSON.string(String(text.dropFirst())).text)"]
    }
    if text.utf8.contains(UInt8(ascii: "@")) { return ["email = \(value)", "email ^= \(value)"] }
    return ["email", "name", "given_name", "family_name", "phone"].map { "\($0) ^= \(value)" }
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
        hint: "Leave it empty if the user shall set one by email."),
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
    return try await visit.submit(request, ["email", "password", "name"]) { made in
      .done(visit.path("users", made.json["id"]?.string ?? ""), "Created", name: email)
    } orShow: { mistakes in
      newPage(visit, form, mistakes: mistakes)
    }
  }
}

/// The filter of a list of users, which the fields of its form build.
struct UserFilter {
  private let typed: String
  private let state: String
  private let from: String
  private let to: String
  let sort: String

  init(_ query: FormValues?) {
    typed = query?["filter"] ?? ""
    state = query?["state"] ?? ""
    (from, to) = (query?["from"] ?? "", query?["to"] ?? "")
    sort = query?["sort"] ?? ""
  }

  private static let states = [
    ("", "All"), ("blocked", "Blocked"), ("guest", "Guests"), ("unverified", "Not verified"),
  ]
  private static let terms = [
    "blocked": "blocked = true", "guest": "anonymous = true",
    "unverified": "email_verified = false",
  ]

  /// The filter of `/v1/users`; empty for all users.
  var text: String {
    var terms: [String] = []
    if !typed.isEmpty { terms.append(typed) }
    if !from.isEmpty { terms.append("created_at >= \"\(from)T00:00:00Z\"") }
    // The last day belongs to the range.
    if !to.isEmpty { terms.append("created_at <= \"\(to)T23:59:59.999999Z\"") }
    if let term = Self.terms[state] {
      // A filter needs one term with an index, and each user has this one.
      if terms.isEmpty { terms.append("created_at >= \"1970-01-01T00:00:00Z\"") }
      terms.append(term)
    }
    return terms.count == 1 ? terms[0] : terms.map { "(\($0))" }.joined(separator: " and ")
  }

  /// The parameters of the page.
  var query: [(name: String, value: String)] {
    [("filter", typed), ("state", state), ("from", from), ("to", to), ("sort", sort)]
  }

  /// The flags of the command.
  var flags: String {
    let filter = text.isEmpty ? "" : " --filter \(CommandLineText.quoted(text))"
    return filter + (sort.isEmpty ? "" : " --sort \(sort)")
  }

  @EventLoop func form(_ visit: ConsoleVisit, _ mistakes: [Mistake]) -> Markup {
    let fields = [
      ConsoleField("filter", "Filter", value: typed),
      ConsoleField("state", "State", .choice(Self.states), value: state),
      ConsoleField(
        "sort", "Order", .choice([("", "Newest first"), ("created_at", "Oldest first")]),
        value: sort),
      ConsoleField("from", "Created from", .day, value: from),
      ConsoleField("to", "Created to", .day, value: to),
    ]
    return """
      <form class="filter" method="get" action="\(visit.path("users").text)">\
      \(fields.markup(mistakes))\(Part.submit("Apply", .secondary))</form>
      """
  }
}
