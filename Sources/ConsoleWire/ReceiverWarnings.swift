import ConsoleKit
import ConsolePages
import EventLoop
import JSON
import Pages
import Runtime

/// The webhooks and log streams of an app whose receivers fail.
@EventLoop enum ReceiverWarnings {
  /// Returns a warning for the webhooks, and one for the log streams; none if all are well.
  ///
  /// One that an operator has disabled is not named, unless its receiver failed before.
  /// - Throws: the failure of a request.
  static func read(_ visit: ConsoleVisit) async throws(Failure) -> [Markup] {
    var warnings: [Markup] = []
    let kinds: [(section: ConsoleSection, title: String, one: String)] = [
      (.webhooks, "url", "Webhook"), (.logStreams, "name", "Log stream"),
    ]
    for (section, title, one) in kinds {
      // An app has at most 20 webhooks and 5 log streams.
      var items: [Markup] = []
      for receiver in try await visit.read(section.rawValue).items {
        let id = receiver["id"]?.string ?? ""
        let status = try await visit.read(section.rawValue, id, "status").json
        guard let sentence = sentence(status) else { continue }
        items.append(
          """
          <li>\(one) <a href="\(visit.path(section.rawValue, id).text)">\
          \(Part.name(receiver[title]?.string ?? id))</a> \(sentence)</li>
          """)
      }
      if !items.isEmpty { warnings.append(Part.warning("<ul>\(items)</ul>")) }
    }
    return warnings
  }

  /// Returns what is wrong with a receiver, as the end of a sentence; nil if it is well.
  private static func sentence(_ status: JSON) -> Markup? {
    let error = status["last_error"]?.string.map { ": \(Part.name($0))" as Markup }
    switch status["state"]?.string {
    case "failing":
      return "has failed since \(Part.time(status["failing_since"]?.string))\(error)"
    case "disabled":
      guard status["failures"]?.number?.int ?? 0 > 0 else { return nil }
      return "is disabled, and its receiver failed\(error)"
    default: return nil
    }
  }
}
