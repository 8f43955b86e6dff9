import ConsoleKit
import Administration
import ConsolePages
import ConsoleUsers
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

  /// The most users in the list of the newest.
  private nonisolated static let mostUsers = 5

  private static func overview(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    var page = ConsolePage("Overview", section: .overview)
    page.hasTimes = true
    page.body = try await warnings(visit)
    let newestUsers = try await visit.read("users", query: [("limit", "\(mostUsers + 1)")]).items
    let users = Array(newestUsers.prefix(mostUsers))
    let events = try await visit.read(
      "audit", query: [("app", visit.place), ("limit", "8")]
    ).items
    page.body += try await numbers(visit, newest: newestUsers.count)
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
    page.commands = [
      "dossier statistics --app \(visit.place)", "dossier doctor",
      "dossier audit --app \(visit.place)",
    ]
    return page
  }

  // MARK: What needs attention

  /// The seconds that the result of the checks may be old.
  private static let age = "60"

  private static func warnings(_ visit: ConsoleVisit) async throws(Failure) -> [Markup] {
    var warnings: [Markup] = []
    if visit.right >= .deployment {
      let report = try await visit.read("doctor", query: [("max_age", age)]).json
      let faults = (report["findings"]?.array ?? []).filter(\.isFault)
      if !faults.isEmpty {
        let items = faults.prefix(5).map { fault -> Markup in
          """
          <li><strong>\(Part.name(fault["what"]?.string ?? ""))</strong>: \
          \(Part.name(fault["fault"]?.string ?? ""))</li>
          """
        }
        let state = report["ready"]?.bool == true ? "" : "Requests cannot be served. "
        warnings.append(
          Part.warning(
            """
            <p>\(state)\(faults.count == 1 ? "1 check fails" : "\(faults.count) checks fail"). \
            \(Part.link("Open the health page", to: .console("-", "health")))</p>\
            <ul>\(Array(items))</ul>
            """))
      }
      let mails = try await visit.read("mails", query: [("limit", "100")]).items
      let stuck = mails.filter { ($0["attempts"]?.number?.int ?? 0) > 0 }
      if !stuck.isEmpty {
        warnings.append(
          Part.warning(
            """
            <p>\(stuck.count == 1 ? "1 email waits" : "\(stuck.count) emails wait") after a failed \
            attempt. \(Part.link("Open the outbox", to: .console("-", "outbox")))</p>
            """))
      }
    }
    if visit.right >= .admin { warnings += try await ReceiverWarnings.read(visit) }
    let hour = Timestamp(microseconds: (Timestamp.now.seconds - 3_600) * 1_000_000)
    let limits = try await visit.read(
      "audit",
      query: [
        ("app", visit.place), ("action", "rate_limited"), ("from", hour.text), ("limit", "100"),
      ]
    ).items
    let addresses = Set(limits.compactMap { $0["address"]?.string }).count
    if addresses > 0 {
      let more = limits.count == 100 ? "At least " : ""
      let link = Part.link(
        "Open the audit log", to: visit.path("audit", query: [("action", "rate_limited")]))
      warnings.append(
        Part.warning(
          """
          <p>\(more)\(addresses == 1 ? "1 address has" : "\(addresses) addresses have") reached a \
          rate limit in the last hour. \(link)</p>
          """))
    }
    return warnings
  }

  // MARK: Numbers

  private static let ranges = [7, 30, 90]

  private static func numbers(
    _ visit: ConsoleVisit, newest listed: Int
  ) async throws(Failure) -> [Markup] {
    let asked = FormValues(visit.call.request.query)?["days"].flatMap { Int($0) } ?? 30
    let range = ranges.contains(asked) ? asked : 30
    let today = Timestamp.now.seconds / 86_400
    let found = try await visit.read(
      "statistics",
      query: [
        ("from", DailyCounter.day(today - range + 1)), ("to", DailyCounter.day(today)),
      ]
    ).json
    let days = found["days"]?.array.map(Array.init) ?? []
    let names = days.map { $0["day"]?.string ?? "" }
    let counted = found["counted_to"]?.string ?? ""
    // A day that no run has reached yet has no number, which is no zero.
    func values(_ name: String) -> [Int?] {
      days.map { day in
        (day["day"]?.string ?? "") <= counted.prefix(10) ? day[name]?.number?.int : nil
      }
    }
    func last(_ name: String) -> String { (values(name).last ?? nil).map { "\($0)" } ?? "–" }
    let until =
      counted.hasPrefix(DailyCounter.day(today))
      ? "today until \(counted.dropFirst(11).prefix(5)) UTC" : "counted within ten minutes"
    let active = Array(zip(names, values("active_users"))).last { $0.1 != nil }
    let choices = ranges.map { number -> Markup in
      number == range
        ? #"<span aria-current="true">\#(number) days</span>"#
        : #"<a href="\#(visit.path(query: [("days", "\(number)")]).text)">\#(number) days</a>"#
    }
    return [
      Part.numbers([
        UserCount.number(found, listed),
        (
          "Active users", active?.1.map { "\($0)" } ?? "–",
          active.map { "on \($0.0)" } ?? "counted after 03:00 UTC"
        ),
        ("Sign-ins", last("sign_ins"), until),
        ("New users", last("sign_ups"), until),
      ]),
      #"<nav class="ranges" aria-label="Days of the charts">\#(choices)</nav>"#,
      """
      <div class="figures">\
      \(Chart("New users", days: names, [.init("New users", values("sign_ups"))]).markup)\
      \(Chart(
        "Sign-ins and active users", days: names,
        [.init("Sign-ins", values("sign_ins")), .init("Active users", values("active_users"))]
      ).markup)\
      \(Chart(
        "Refused sign-ins and rate limits", days: names,
        [
          .init("Refused sign-ins", values("failures")),
          .init("Rate limits (429)", values("rate_limits")),
        ]
      ).markup)</div>
      """,
      Part.paragraph(
        "Days are in UTC. Events are counted every ten minutes, and users at night.", isMuted: true),
    ]
  }

  /// The number of users of an app.
  enum UserCount {
    /// Returns the number with its label and its day.
    ///
    /// A short list has all users, and so the exact number. Otherwise the number of the last night is
    /// shown, unless it is less than what the list has.
    ///
    /// - Parameters:
    ///   - statistics: the numbers of `/v1/statistics`.
    ///   - listed: the number of the newest users, at most one more than a list has.
    /// - Returns: the label, the number and the note.
    static func number(
      _ statistics: JSON, _ listed: Int
    ) -> (label: String, value: String, note: String) {
      let counted = statistics["users"]?.number?.int ?? 0
      if listed <= OverviewPages.mostUsers { return ("Users", "\(listed)", "now") }
      guard counted > OverviewPages.mostUsers else {
        return ("Users", "more than \(OverviewPages.mostUsers)", "counted after 03:00 UTC")
      }
      return ("Users", "about \(counted)", "on \(statistics["users_on"]?.string ?? "")")
    }
  }
}
