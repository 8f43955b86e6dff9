import ConsolePages
package import EventLoop
package import JSON
package import Pages
package import Runtime
import WireKit

/// The latest changes of an object, from the audit log of its app.
@EventLoop package enum ObjectHistory {
  /// Returns the latest changes of an object.
  ///
  /// - Parameters:
  ///   - action: the action of its events; with * at its end, the start of it.
  ///   - visit: the visit.
  ///   - isOfObject: returns whether the detail of an event names the object.
  /// - Returns: the changes among the latest 100 events of the action, with a link to all.
  /// - Throws: the failure of the request.
  package static func card(
    _ action: String, _ visit: ConsoleVisit, where isOfObject: (JSON) -> Bool
  ) async throws(Failure) -> Markup {
    card(action, of: try await events(action, visit), visit, where: isOfObject)
  }

  /// Returns the latest 100 events of an action in the app of the page, the newest first.
  ///
  /// - Throws: the failure of the request.
  package static func events(
    _ action: String, _ visit: ConsoleVisit
  ) async throws(Failure) -> [JSON] {
    try await visit.read(
      "audit", query: [("app", visit.app ?? ""), ("action", action), ("limit", "100")]
    ).items
  }

  /// Returns the changes of an object among events that were read before.
  package static func card(
    _ action: String, of events: [JSON], _ visit: ConsoleVisit, where isOfObject: (JSON) -> Bool
  ) -> Markup {
    let own = events.filter { isOfObject($0["detail"] ?? .null) }.prefix(10)
    // Only apps have a page with their events.
    let all = visit.app.map { app in
      Part.link(
        "All events of this kind", to: .console(app, "audit", query: [("action", action)]),
        style: .secondary)
    }
    return """
      <h2>What changed?</h2>\
      \(own.isEmpty
        ? Part.paragraph("No change is among the latest events.", isMuted: true)
        : AuditPages.table(of: Array(own)))\
      \(all.map { "<p>\($0)</p>" })
      """
  }
}
