import ConsoleKit
import Administration
import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Records
import Runtime
import WireKit

/// Changes of many users, which the list of users begins.
@EventLoop enum BulkPages {
  nonisolated static let routes = [
    ConsoleVisit.page(
      "/console/{app}/users/bulk", for: .admin, isRecent: true, "Ask whether to change many users"
    ) { (visit) async throws(Failure) in
      try await confirmation(visit, FormValues(visit.call.request.query))
    },
    ConsoleVisit.form(
      "/console/{app}/users/bulk", for: .admin, isRecent: true, "Change many users", start),
  ]

  private static let actions = [
    ("export", "Export all data"), ("block", "Block"), ("unblock", "Unblock"),
    ("end_sessions", "End sessions"), ("add_role", "Add a role"),
    ("remove_role", "Remove a role"), ("delete", "Delete"),
  ]

  /// Returns the label of an action; nil for an unknown one.
  static func label(of action: String?) -> String? { actions.first { $0.0 == action }?.1 }

  /// The effect of each action; the number of users precedes it.
  private nonisolated static let effects = [
    "block": "cannot sign in any more, and their sessions end.", "unblock": "can sign in again.",
    "end_sessions": "must sign in again.", "add_role": "get the role.",
    "remove_role": "lose the role.",
    "export": "are written to a file with all their data, as an import reads it.",
    "delete": "are deleted with all their data. This cannot be undone.",
  ]

  /// The examples on the page of the confirmation.
  private static let examples = 5

  // MARK: The form around the list

  private nonisolated static let box = "user:"

  /// Returns the box by which a user is chosen.
  static func checkbox(for user: String) -> Markup {
    """
    <input type="checkbox" name="\(box)\(user)" value="true" form="bulk" \
    aria-label="Select \(user)"> 
    """
  }

  /// Returns the form that acts on the chosen users, or on all that match the filter.
  static func form(_ filter: UserFilter, _ visit: ConsoleVisit) -> Markup {
    let action = ConsoleField("action", "Bulk actions", .choice([("", "Choose…")] + actions))
    let all = filter.text.isEmpty ? "All users" : "All that match this filter"
    return """
      <form id="bulk" class="filter" method="get" action="\(visit.path("users", "bulk").text)">\
      <input type="hidden" name="filter" value="\(filter.text)">\
      \(action.markup)<span class="selected">\(Part.submit("Selected users", .secondary))</span>\
      \(Part.submit(all, .secondary, value: HiddenField("scope", "all")))\
      <p class="muted none">Select users above for “Selected users”.</p></form>
      """
  }

  // MARK: The confirmation

  /// The users of a job, as the page of the list names them.
  private struct Selection {
    var action = ""
    /// The filter; nil for chosen users.
    var filter: String?
    var users: [String] = []

    init(_ form: FormValues?) {
      let asked = form?["action"] ?? ""
      action = BulkPages.effects[asked] == nil ? "" : asked
      if form?["scope"] == "all" {
        let text = form?["filter"] ?? ""
        filter = text.isEmpty ? BulkPages.everyone : text
      } else {
        let names = (form?.pairs ?? []).map(\.name).filter { $0.hasPrefix(BulkPages.box) }
        users = names.map { String($0.dropFirst(BulkPages.box.count)) }
      }
    }

    /// The fields of the form that starts the job.
    var hidden: [HiddenField] {
      [HiddenField("action", action)]
        + (filter.map { [HiddenField("scope", "all"), HiddenField("filter", $0)] }
          ?? users.map { HiddenField(BulkPages.box + $0, "true") })
    }

    var flags: String {
      filter.map { " --filter \(CommandLineText.quoted($0))" } ?? " --users FILE"
    }
  }

  /// A filter that all users match.
  private nonisolated static let everyone = "created_at >= \"1970-01-01T00:00:00Z\""

  private static func confirmation(
    _ visit: ConsoleVisit, _ form: FormValues?, _ mistakes: [Mistake] = []
  ) async throws(Failure) -> ConsolePage {
    let selection = Selection(form)
    guard let label = label(of: selection.action) else {
      var page = ConsolePage("Bulk actions", section: .users)
      page.back = ConsoleLink("Users", to: visit.path("users"))
      page.body = [
        Part.empty(
          "You have chosen no action.",
          Part.link("Back to the users", to: visit.path("users"), style: .secondary))
      ]
      return page
    }
    var page = ConsolePage("\(label): confirm", section: .users)
    page.back = ConsoleLink("Users", to: visit.path("users"))
    page.mistakes = mistakes
    page.commands = [
      "dossier job start \(selection.action)\(selection.flags) --app \(visit.place)"
    ]
    guard let (count, users) = try await users(of: selection, visit) else {
      page.mistakes.append(
        Mistake("More than 10,000 users match the filter. Narrow it, or use the command line."))
      return page
    }
    guard count > 0 else {
      page.body = [
        Part.empty(
          selection.filter == nil ? "You have selected no user." : "No user matches the filter.",
          Part.link("All users", to: visit.path("users"), style: .secondary))
      ]
      return page
    }
    let who = count == 1 ? "1 user:" : "\(count) users"
    page.body.append(
      Part.warning(
        "<p><strong>\(who)</strong> \(effects[selection.action] ?? "")</p>"))
    if let filter = selection.filter {
      page.body.append("<p>All that match the filter \(Part.identifier(filter)).</p>")
    }
    page.body.append(UserListPages.table(of: users, in: visit.place))
    if count > users.count {
      page.body.append(Part.paragraph("These are \(users.count) examples.", isMuted: true))
    }
    let fields = try await fields(for: selection.action, count, visit)
    page.body.append(
      Part.card(
        nil,
        Part.form(
          visit.target(visit.path("users", "bulk"), selection.hidden), isWide: true,
          """
          \(fields.markup(mistakes))\
          \(Part.buttons(
            Part.submit(label, selection.action == "delete" ? .danger : .primary),
            Part.link("Cancel", to: visit.path("users"), style: .secondary)))
          """)))
    return page
  }

  /// Returns the number of users, and some of them; nil if they are too many.
  private static func users(
    of selection: Selection, _ visit: ConsoleVisit
  ) async throws(Failure) -> (count: Int, examples: [JSON])? {
    guard let filter = selection.filter else {
      var users: [JSON] = []
      for user in selection.users.prefix(examples) {
        users.append(try await visit.read("users", user).json)
      }
      return (selection.users.count, users)
    }
    let found = try await visit.read(
      "users", query: [("filter", filter), ("total", "estimate"), ("limit", "\(examples)")])
    guard let count = found.total.flatMap({ Int($0) }), count <= 10_000 else { return nil }
    return (count, found.items)
  }

  private static func fields(
    for action: String, _ count: Int, _ visit: ConsoleVisit
  ) async throws(Failure) -> [ConsoleField] {
    switch action {
    case "add_role", "remove_role":
      let roles = try await visit.read("roles").items
      return [
        ConsoleField(
          "role", "Role",
          .choice(roles.map { ($0["id"]?.string ?? "", $0["name"]?.string ?? "") }))
      ]
    case "delete":
      return [
        ConsoleField(
          "count", "Number of users", .number, hint: "Type \("\(count)") to confirm the deletion.")
      ]
    default: return []
    }
  }

  // MARK: The start

  private static func start(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let selection = Selection(form)
    guard !selection.action.isEmpty else {
      return .refused(try await confirmation(visit, form), .unprocessable)
    }
    if selection.action == "delete" {
      let count = try await users(of: selection, visit)?.count
      guard form.trimmed(named: "count") == count.map({ "\($0)" }) else {
        let mistakes = [Mistake("Type the number of users.", field: "count")]
        return .refused(try await confirmation(visit, form, mistakes), .unprocessable)
      }
    }
    let isExport = selection.action == "export"
    var body = JSONObject([("kind", isExport ? "export" : "bulk")])
    if !isExport { body["action"] = .string(selection.action) }
    if let role = form["role"] { body["role"] = .string(role) }
    if let filter = selection.filter {
      body["filter"] = .string(filter)
    } else {
      body["users"] = .array(JSONArray(selection.users.map(JSON.string)))
    }
    var request = ConsoleRequest(.post, "jobs")
    request.body = .object(body)
    return try await visit.submit(request, ["role", "count"]) { made in
      .done(JobPages.page(of: made.json["id"]?.string ?? "", visit), "The job has begun")
    } orShow: { (mistakes) async throws(Failure) in
      try await confirmation(visit, form, mistakes)
    }
  }
}
