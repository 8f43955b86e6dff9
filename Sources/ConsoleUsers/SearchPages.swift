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
import WireKit

/// The search of the bar: users, and by an id also sessions, devices, applications and events.
@EventLoop enum SearchPages {
  nonisolated static let routes = [
    ConsoleVisit.lead("/console/{app}/search", "Find users and other objects") {
      (visit) async throws(Failure) in
      let text = text(of: visit)
      guard !text.isEmpty else { return .redirect(visit.path("users")) }
      return try await results(for: text, in: [visit.place], visit)
    },
    ConsoleVisit.lead("/console/-/search", "Find users and other objects in all apps") {
      (visit) async throws(Failure) in
      let text = text(of: visit)
      let apps = try await visit.read("apps").items.compactMap { $0["name"]?.string }
      let found = Array(apps.prefix(mostApps))
      var outcome = try await results(for: text, in: found, visit)
      if apps.count > mostApps, case .refused(var page, let status) = outcome {
        page.body.append(
          Part.paragraph("Only the first \(mostApps) apps are searched. Open an app to search it."))
        outcome = .refused(page, status)
      }
      return outcome
    },
  ]

  /// The most apps that one search asks.
  private static let mostApps = 20

  private static func text(of visit: ConsoleVisit) -> String {
    let query = FormValues(visit.call.request.query)?["q"] ?? ""
    return query.split { $0.isWhitespace }.joined(separator: " ")
  }

  /// Returns the page of the results, or leads to the only user with an id.
  private static func results(
    for text: String, in apps: [String], _ visit: ConsoleVisit
  ) async throws(Failure) -> ConsoleOutcome {
    var page = ConsolePage("Search: \(text)", heading: "Results for “\(Part.name(text))”")
    page.section = visit.app == nil ? nil : .users
    page.hasTimes = true
    page.commands =
      apps.count == 1 ? ["dossier search \(CommandLineText.quoted(text)) --app \(apps[0])"] : []
    let isID = text.utf8.count == 24 && text.utf8.allSatisfy(\.isHexadecimalDigit)
    for app in apps {
      var request = ConsoleRequest(.get, "search")
      request.query = [("q", isID ? text.lowercased() : text)]
      request.app = app
      let found: JSON
      do throws(Failure) {
        found = try await visit.send(request).json
      } catch {
        guard error.isMendable || error.is(.searchTooSlow) else { throw error }
        visit.call.failure = error
        page.mistakes = error.mistakes(["q"])
        return .refused(page, ConsoleResponses.status(of: error))
      }
      if isID, let user = found["users"]?.array?.first?["id"]?.string {
        return .redirect(.console(app, "users", user))
      }
      let parts = parts(of: found, in: app)
      if !parts.isEmpty, visit.app == nil { page.body.append("<h2>\(Part.name(app))</h2>") }
      page.body += parts
    }
    if page.body.isEmpty {
      let place = visit.app ?? "any app"
      page.body = [
        Part.empty(
          "Nothing in \(place) has this id, an address or phone number that starts so, or a name with "
            + "these words or words that start so. Text inside a word is not searched. Data such as a "
            + "theme are on the page of each user.")
      ]
    }
    if let app = visit.app, !isID, visit.right >= .support {
      page.body.append("<p>\(similar(to: text, in: app))</p>")
    }
    return .refused(page, .ok)
  }

  /// Returns the link to the check of an address, which finds those that are almost the same.
  static func similar(to text: String, in app: String) -> Markup {
    let user = text.utf8.contains(UInt8(ascii: "@")) ? text : ""
    return Part.link(
      "Look for addresses that are almost the same",
      to: .console(app, "sign-in-check", query: [("user", user)]), style: .secondary)
  }

  private static func parts(of found: JSON, in app: String) -> [Markup] {
    func items(_ kind: String) -> [JSON] { found[kind]?.array.map(Array.init) ?? [] }
    func text(_ item: JSON, _ name: String) -> String { item[name]?.string ?? "" }
    func link(_ label: String, _ path: String...) -> Markup {
      #"<a href="\#(LocalPath.console([app] + path).text)">\#(Part.identifier(label))</a>"#
    }
    var parts: [Markup] = []
    if !items("users").isEmpty { parts.append(UserListPages.table(of: items("users"), in: app)) }
    if !items("sessions").isEmpty {
      var table = ConsoleTable(
        "Sessions",
        [.init("Session"), .init("State"), .init("User"), .init("Device"), .init("Since")])
      for item in items("sessions") {
        let (user, device) = (text(item, "user_id"), text(item, "device_id"))
        table.rows.append([
          link(text(item, "id"), "users", user, "sessions"),
          item["ended_at"]?.string == nil ? Part.tag("Live", .success) : Part.tag("Ended"),
          link(user, "users", user), link(device, "devices", device),
          Part.time(item["created_at"]?.string),
        ])
      }
      parts += ["<h3>Sessions</h3>", table.markup]
    }
    if !items("devices").isEmpty {
      var table = ConsoleTable("Devices", [.init("Device"), .init("First use"), .init("Last use")])
      for item in items("devices") {
        table.rows.append([
          link(text(item, "id"), "devices", text(item, "id")),
          Part.time(item["created_at"]?.string), Part.time(item["last_seen_at"]?.string),
        ])
      }
      parts += ["<h3>Devices</h3>", table.markup]
    }
    if !items("clients").isEmpty {
      var table = ConsoleTable("Applications", [.init("Name"), .init("Type"), .init("Client ID")])
      for item in items("clients") {
        let id = text(item, "id")
        table.rows.append([
          #"<a href="\#(LocalPath.console(app, "applications", id).text)">\#(Part.name(text(item, "name")))</a>"#,
          Part.name(text(item, "kind")), Part.identifier(id),
        ])
      }
      parts += ["<h3>Applications</h3>", table.markup]
    }
    if !items("events").isEmpty {
      parts += [
        "<h3>Events</h3>", AuditPages.table(of: items("events")) { .console(app, "users", $0) },
      ]
    }
    return parts
  }
}
