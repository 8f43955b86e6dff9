import ConsolePages
import Encoding
import EventLoop
import HTTP
import HostedPages
import JSON
import Pages
import Runtime
import WireKit

/// The audit log of an app.
@EventLoop enum AuditPages {
  nonisolated static let routes = [
    ConsoleVisit.page("/console/{app}/audit", "List what was done in an app") {
      (visit) async throws(Failure) in
      let events = try await visit.read(
        "audit", query: [("app", visit.place), ("limit", "50"), ("cursor", visit.cursor)])
      var page = ConsolePage("Audit log", section: .audit)
      page.hasTimes = true
      page.commands = ["dossier audit --app \(visit.place)"]
      page.body = [
        events.items.isEmpty
          ? Part.empty("Nothing is recorded.")
          : table(of: events.items) { visit.path("users", $0) }
      ]
      page.body += visit.pager(events) { visit.path("audit", query: $0) }
      return page
    }
  ]

  /// Returns events as a table.
  ///
  /// - Parameters:
  ///   - events: the events.
  ///   - path: returns the page of a user; nil for the events of one user.
  /// - Returns: the table.
  static func table(of events: [JSON], user path: ((String) -> LocalPath)? = nil) -> Markup {
    var columns: [ConsoleTable.Column] = [.init("Action"), .init("Time"), .init("By")]
    if path != nil { columns.append(.init("User")) }
    columns += [.init("Address"), .init("Details")]
    var table = ConsoleTable("Events", columns)
    for event in events {
      var row: [Markup] = [
        Part.identifier(event["action"]?.string ?? ""), Part.time(event["at"]?.string),
        Part.name(event["actor"]?.string ?? ""),
      ]
      if let path {
        let user = event["user_id"]?.string
        row.append(
          user.map { #"<a href="\#(path($0).text)">\#(Part.identifier($0))</a>"# as Markup } ?? "")
      }
      let detail = event["detail"]?.object ?? JSONObject()
      row.append(Part.name(event["address"]?.string ?? ""))
      row.append(detail.count == 0 ? "" : details(JSON.object(detail)))
      table.rows.append(row)
    }
    return table.markup
  }

  private static func details(_ detail: JSON) -> Markup {
    let line = detail.text
    guard line.utf8.count > 60 else { return Part.identifier(line) }
    return """
      <details><summary>Show</summary>\(Part.code(detail.edited, label: "Details"))</details>
      """
  }
}
