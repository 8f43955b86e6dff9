import ConsoleKit
import ConsolePages
import EventLoop
import HTTP
import JSON
import LogStreams
import Pages
import Records
import Runtime
import WireKit

/// The log streams of an app, with their state.
@EventLoop enum LogStreamPages {
  private nonisolated static let pages = RecordPages(
    section: .logStreams, words: LogStreamRecord.words, shape: LogStreamRecord.table.shape,
    title: "name", key: "id", creation: nil, listed: ["kind", "enabled"], one: "log stream",
    none: "This app has no log streams. A log stream sends all events to a log system.",
    labels: [
      "kind": "Kind", "url": "URL", "header_name": "Header field", "header_value": "Header value",
      "types": "Events", "enabled": "Enabled",
    ],
    needsRecent: true,
    extra: { (visit, stream) async throws(Failure) in [try await card(visit, stream)] })

  nonisolated static let routes =
    pages.routes + [
      ConsoleVisit.form(
        "/console/{app}/log-streams/{record}/test", below: 1, "Send a test event to a log system",
        test)
    ]

  private static func test(
    _ visit: ConsoleVisit, _ form: FormValues
  ) async throws(Failure) -> ConsoleOutcome {
    let result = try await visit.send(ConsoleRequest(.post, "log-streams", pages.id(visit), "test"))
      .json
    guard result["delivered"] != true else {
      return .done(pages.recordPath(visit), "The test has arrived.")
    }
    let status = result["status"]?.number.map { "status \($0.text)" }
    return .done(
      pages.recordPath(visit), "The test has failed:",
      name: status ?? NameWords.label(result["error"]?.string ?? ""))
  }

  /// Returns the state, the delay and the last failure.
  private static func card(_ visit: ConsoleVisit, _ stream: JSON) async throws(Failure) -> Markup {
    let status = try await visit.read("log-streams", pages.id(visit), "status").json
    let state = status["state"]?.string ?? ""
    let kind: Part.TagKind = state == "active" ? .neutral : .danger
    var facts: [(label: String, value: Markup)] = [
      ("State", Part.tag(NameWords.label(state), kind)),
      ("Delay", "\(status["lag_seconds"]?.number?.text ?? "0") s"),
    ]
    if let time = status["last_success_at"]?.string {
      facts.append(("Last success", Part.time(time)))
    }
    if let time = status["last_failure_at"]?.string {
      facts.append(
        ("Last failure", "\(Part.time(time)) \(Part.name(status["last_error"]?.string ?? ""))"))
    }
    if let time = status["lost_at"]?.string {
      let count = status["lost_events"]?.number?.text ?? "0"
      facts.append(("Lost events", "\(count), \(Part.time(time))"))
    }
    let actions = Part.buttons(
      Part.button("Send a test", visit.target(pages.recordPath(visit, "test"))))
    return Part.card("State", "\(Part.definitions(facts))\(actions)")
  }
}
