import Administration
import ConsoleKit
import ConsolePages
import EventLoop
import Events
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The event feed of an app, as its back ends read it.
@EventLoop enum EventPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/events", "List the events that back ends read", list)
  ]

  private nonisolated static let day = Duration.seconds(86_400)

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let query = FormValues(visit.call.request.query)
    let types = query?.trimmed(named: "types") ?? ""
    let since = query?.trimmed(named: "since") ?? ""
    let recent = Timestamp.now.earlier(by: day).text
    var page = ConsolePage("Events", section: .events)
    page.hasTimes = true
    page.commands = [
      "dossier events --app \(visit.place) --since \(recent)"
        + (types.isEmpty ? "" : " --types \(CommandLineText.quoted(types))")
    ]
    let feed: JSON
    do throws(Failure) {
      feed = try await visit.read(
        "events",
        query: [("since", since.isEmpty ? recent : since), ("types", types), ("limit", "50")]
      ).json
    } catch {
      if error.is(.feedDisabled) {
        page.body = [
          Part.empty(
            "This app keeps no events for back ends.",
            Part.link("Open the settings", to: visit.path("settings"), style: .secondary))
        ]
        return page
      }
      guard error.isMendable || error.is(.cursorInvalid) || error.is(.cursorExpired) else {
        throw error
      }
      visit.call.failure = error
      page.mistakes = error.mistakes(["types", "since"])
      page.body = [filter(types, visit, page.mistakes)]
      return page
    }
    let events = feed["events"]?.array.map(Array.init) ?? []
    page.body = [filter(types, visit, [])]
    page.body.append(
      events.isEmpty ? Part.empty("There are no such events.") : table(of: events, visit))
    let next = feed["more"] == true ? feed["next"]?.string : nil
    let further = next.map { next in
      visit.path("events", query: [("types", types), ("since", next)])
    }
    let first = since.isEmpty ? nil : visit.path("events", query: [("types", types)])
    page.body += Part.pager(first: first, next: further).map { [$0] } ?? []
    return page
  }

  private static func filter(
    _ types: String, _ visit: ConsoleVisit, _ mistakes: [Mistake]
  ) -> Markup {
    let field = ConsoleField(
      "types", "Types", value: types, hint: "Such as user.created, or user.* for all of users")
    return """
      <p class="muted">The events of the last 24 hours, in the order in which back ends get them.</p>\
      <form class="filter" method="get" action="\(visit.path("events").text)">\
      \([field].markup(mistakes))\(Part.submit("Apply", .secondary))</form>
      """
  }

  private static func table(of events: [JSON], _ visit: ConsoleVisit) -> Markup {
    var table = ConsoleTable(
      "Events",
      [.init("Type"), .init("Time"), .init("User"), .init("By"), .init("Details", isMinor: true)])
    for event in events {
      let data = event["data"]?.object ?? JSONObject()
      let user = data["user_id"]?.string
      var rest = JSONObject()
      for (name, value) in data where !["app", "user_id", "actor"].contains(name) {
        rest[name] = value
      }
      table.rows.append([
        Part.identifier(event["type"]?.string ?? ""), Part.time(event["timestamp"]?.string),
        user.map { Part.link($0, to: visit.path("users", $0)) } ?? "",
        "\(data["actor"]?.string ?? "")",
        rest.count == 0 ? "" : Part.identifier(JSON.object(rest).text),
      ])
    }
    return table.markup
  }
}
