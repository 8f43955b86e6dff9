import Administration
import ConsolePages
import Encoding
package import EventLoop
import HTTP
import HostedPages
package import JSON
package import Pages
import Runtime
package import WireKit

/// The audit log of an app.
@EventLoop package enum AuditPages {
  package nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/audit", "List what was done in an app", list),
    ConsoleVisit.posted(
      "/console/{app}/audit/export", below: 1, for: .admin, isRecent: true,
      "Export events of an app", export),
  ]

  /// The conditions, as the parameters of the page and of `/v1/audit` name them.
  private struct Conditions {
    static let fields = [
      "action", "actor", "user", "network", "session", "request", "from", "to", "order", "offset",
    ]
    /// The parameters of the page.
    ///
    /// Words of actions and actors are replaced by their codes.
    let values: [(name: String, value: String)]

    init(_ form: FormValues?) {
      values = Self.fields.map { name in
        let typed = form?.trimmed(named: name) ?? ""
        switch name {
        case "action": return (name, EventWords.code(ofAction: typed) ?? typed)
        case "actor": return (name, EventWords.code(ofActor: typed) ?? typed)
        case "offset": return (name, DayZone(minutes: typed) == nil ? "" : typed)
        default: return (name, typed)
        }
      }
    }

    subscript(name: String) -> String { values.first { $0.name == name }?.value ?? "" }
    var isEmpty: Bool { conditions.isEmpty }

    /// The values that select events.
    private var conditions: [(name: String, value: String)] {
      values.filter { !$0.value.isEmpty && $0.name != "order" && $0.name != "offset" }
    }

    /// The conditions in words.
    var text: String {
      conditions.map { name, value in
        switch name {
        case "action": "action \(EventWords.actions[value] ?? value)"
        case "actor": "by \(EventWords.actors[value] ?? value)"
        default: "\(name) \(value)"
        }
      }
      .joined(separator: ", ")
    }

    /// The parameters of `/v1/audit`.
    ///
    /// Days begin and end in the zone of the reader.
    var parameters: [(name: String, value: String)] {
      let zone = DayZone(minutes: self["offset"])
      return values.filter { $0.name != "offset" }.map { name, value in
        guard let zone, value.utf8.count == 10 else { return (name, value) }
        switch name {
        case "from": return (name, zone.start(of: value))
        case "to": return (name, zone.end(of: value))
        default: return (name, value)
        }
      }
    }

    var flags: String {
      parameters.filter { !$0.value.isEmpty }.map {
        " --\($0.name) \(CommandLineText.quoted($0.value))"
      }
      .joined()
    }
  }

  private static func list(_ visit: ConsoleVisit) async throws(Failure) -> ConsolePage {
    let conditions = Conditions(FormValues(visit.call.request.query))
    var page = ConsolePage("Audit log", section: .audit)
    page.hasTimes = true
    page.commands = ["dossier audit --app \(visit.place)\(conditions.flags)"]
    let events: ConsoleAnswer
    do throws(Failure) {
      let query = try await query(of: conditions, visit)
      events = try await visit.read(
        "audit",
        query: [("app", visit.place), ("limit", "50"), ("cursor", visit.cursor)] + query)
    } catch {
      guard error.isMendable || error.is(.searchTooSlow) else { throw error }
      visit.call.failure = error
      page.mistakes = error.mistakes(Conditions.fields)
      page.body = [form(conditions, visit, page.mistakes)]
      return page
    }
    page.body = [form(conditions, visit, [])]
    guard !events.items.isEmpty else {
      if let next = events.next {
        page.body.append(
          Part.empty(
            "None of the events that were read matches \(conditions.text). More events are left.",
            Part.link(
              "Go on", to: visit.path("audit", query: conditions.values + [("cursor", next)]),
              style: .secondary)))
      } else {
        page.body.append(
          conditions.isEmpty
            ? Part.empty("Nothing is recorded.")
            : Part.empty(
              "No event matches \(conditions.text).",
              Part.link("Remove filter", to: visit.path("audit"), style: .secondary)))
      }
      return page
    }
    page.body.append(
      table(
        of: events.items, user: { visit.path("users", $0) },
        actor: { visit.path("audit", query: [("actor", $0)]) },
        network: { visit.path("audit", query: [("network", $0)]) }, hasCodes: true))
    page.body += visit.pager(events) { visit.path("audit", query: conditions.values + $0) }
    if visit.right >= .admin { page.body.append(exportCard(conditions, visit)) }
    return page
  }

  /// Returns the parameters for `/v1`, which knows users only by their ids.
  private static func query(
    of conditions: Conditions, _ visit: ConsoleVisit
  ) async throws(Failure) -> [(name: String, value: String)] {
    let user = conditions["user"]
    guard user.utf8.contains(UInt8(ascii: "@")) else { return conditions.parameters }
    guard let id = try await visit.user(withAddress: user) else {
      throw .invalid([FieldError("/user", "user", "No user has this address.")])
    }
    return conditions.parameters.map { ($0.name, $0.name == "user" ? id : $0.value) }
  }

  private static func form(
    _ conditions: Conditions, _ visit: ConsoleVisit, _ mistakes: [Mistake]
  ) -> Markup {
    var fields = [
      ConsoleField(
        "action", "Action", value: EventWords.actions[conditions["action"]] ?? conditions["action"],
        hint: "Words or a code, such as login*"),
      ConsoleField(
        "actor", "By", value: EventWords.actors[conditions["actor"]] ?? conditions["actor"],
        hint: "Or click a name below"),
      ConsoleField("user", "User", value: conditions["user"], hint: "ID or address"),
      ConsoleField(
        "network", "Network", value: conditions["network"], hint: "Such as 203.0.113.0/24"),
      ConsoleField("session", "Session", value: conditions["session"], hint: "ID"),
      ConsoleField("request", "Request", value: conditions["request"], hint: "ID, as in the log"),
      ConsoleField("from", "From", .day, value: conditions["from"], hint: "This day included"),
      ConsoleField("to", "To", .day, value: conditions["to"], hint: "This day included"),
      ConsoleField(
        "order", "Order", .choice([("", "Newest first"), ("oldest", "Oldest first")]),
        value: conditions["order"], hint: "By time"),
    ]
    fields[0].suggestions = EventWords.actions.values.sorted()
    fields[1].suggestions = EventWords.actors.values.sorted()
    let (first, more) = (Array(fields.prefix(shownFields)), Array(fields.dropFirst(shownFields)))
    let isOpen = more.contains { field in
      !field.value.isEmpty || mistakes.contains { $0.field == field.name }
    }
    return """
      <form class="filter" method="get" action="\(visit.path("audit").text)">\
      <input type="hidden" name="offset" value="\(conditions["offset"])">\
      \(first.markup(mistakes))\(Part.submit("Apply", .secondary))\
      <details class="more"\(if: isOpen, " open")><summary>More filters</summary>\
      <div class="filter">\(more.markup(mistakes))</div></details></form>
      """
  }

  /// The fields that the page always shows: action, actor and user.
  private static let shownFields = 3

  // MARK: Export

  private static func exportCard(_ conditions: Conditions, _ visit: ConsoleVisit) -> Markup {
    let hidden = conditions.values.map { HiddenField($0.name, $0.value) }
    func button(_ label: String, _ format: String) -> Markup {
      Part.button(
        label,
        visit.target(visit.path("audit", "export"), hidden + [HiddenField("format", format)]))
    }
    return Part.card(
      "Export",
      """
      <p class="muted">A file has at most 50,000 of these events. Choose a shorter time for the rest, \
      or use the command line.</p>\
      <div class="buttons">\(button("Export CSV", "csv"))\(button("Export NDJSON", "ndjson"))</div>
      """)
  }

  private static func export(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> Response {
    let conditions = Conditions(form)
    var request = ConsoleRequest(.get, "audit", "export")
    request.query =
      [("app", visit.place), ("format", form["format"] ?? "")]
      + (try await query(of: conditions, visit))
    return try await visit.response(to: request)
  }

  // MARK: Rows

  /// Returns events as a table.
  ///
  /// - Parameters:
  ///   - events: the events.
  ///   - path: returns the page of a user; nil for the events of one user or object.
  ///   - filter: returns the page with the events of an actor; nil for none.
  ///   - network: returns the page with the events of a network; nil for none.
  ///   - hasCodes: whether each action has its code beside it.
  ///   - versions: returns the versions of a document, by its name in events; nil for none.
  ///   - undo: returns the page that undoes what a session has written; nil for none.
  /// - Returns: the table.
  package static func table(
    of events: [JSON], user path: ((String) -> LocalPath)? = nil,
    actor filter: ((String) -> LocalPath)? = nil, network: ((String) -> LocalPath)? = nil,
    hasCodes: Bool = false,
    versions: ((String) -> LocalPath?)? = nil, undo: ((String) -> LocalPath?)? = nil
  ) -> Markup {
    var columns: [ConsoleTable.Column] = [.init("Action"), .init("Time"), .init("By")]
    if path != nil { columns.append(.init("User")) }
    columns += [.init("Address"), .init("Details")]
    var table = ConsoleTable("Events", columns)
    for event in events {
      var row: [Markup] = [
        action(of: event, hasCodes), Part.time(event["at"]?.string), actor(of: event),
      ]
      if let filter, let code = event["actor"]?.string {
        row[2] = #"<a href="\#(filter(code).text)">\#(row[2])</a>"#
      }
      if let path {
        let user = event["user_id"]?.string
        row.append(
          user.map {
            let name = event["user_name"]?.string
            return
              #"<a href="\#(path($0).text)">\#(name.map(Self.name) ?? Part.identifier($0))</a>"#
              as Markup
          } ?? "")
      }
      let detail = event["detail"]?.object ?? JSONObject()
      let address = event["address"]?.string ?? ""
      let shown = Part.whole(address)
      row.append(
        network.flatMap { path in
          address.isEmpty ? nil : #"<a href="\#(path(address).text)">\#(shown)</a>"#
        } ?? shown)
      let restore = detail["what"]?.string.flatMap { versions?($0) }.map {
        " \(Part.link("Versions, to restore one", to: $0))" as Markup
      }
      let session = event["actor"]?.string == "user" ? event["session_id"]?.string : nil
      let isOfData = ["data_change", "login"].contains(event["action"]?.string)
      let undo = session.flatMap { isOfData ? undo?($0) : nil }.map {
        " \(Part.link("What this session changed", to: $0))" as Markup
      }
      row.append("\(detail.count == 0 ? "" : details(JSON.object(detail)))\(restore)\(undo)")
      table.rows.append(row)
    }
    return table.markup
  }

  /// Returns what was done in words; with its code where a filter needs it.
  private static func action(of event: JSON, _ hasCodes: Bool) -> Markup {
    let code = event["action"]?.string ?? ""
    let words = EventWords.action(code)
    return "\(words)\(hasCodes ? " \(Part.identifier(code))" as Markup : nil)"
  }

  /// The longest name that does not break, in bytes.
  private static let longestLine = 28

  private static func name(_ text: String) -> Markup {
    text.utf8.count <= longestLine ? Part.whole(text) : Part.address(text)
  }

  /// Returns who did it: the address of an administrator, the name of a client, or a word.
  package static func actor(of event: JSON) -> Markup {
    let words = EventWords.actor(
      event["actor"]?.string ?? "", named: event["actor_name"]?.string)
    return name(words)
  }

  private static func details(_ detail: JSON) -> Markup {
    if let values = detail.object.flatMap(EventWords.values), values.utf8.count <= 120 {
      return Part.sentence(values)
    }
    return """
      <details><summary>Show</summary>\(changes(detail) ?? Part.code(detail.edited, label: "Details"))\
      </details>
      """
  }

  /// Returns what a change has replaced, as a difference; nil for other events.
  private static func changes(_ detail: JSON) -> Markup? {
    guard let before = detail["before"]?.object, var after = detail.object else { return nil }
    after["before"] = nil
    var old = JSONObject()
    // Members without a former value are the same on both sides, such as the id.
    for (name, value) in after { old[name] = before[name] ?? value }
    for (name, value) in before { old[name] = value }
    return Difference(from: JSON.object(old).edited, to: JSON.object(after).edited)
      .markup(label: "Before and after")
  }
}
