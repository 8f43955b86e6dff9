import CommandKit
import ArgumentParser
import EventLoop
import HTTP
import JSON

struct EventsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "events",
    abstract: "Prints the events of an app that back ends read, the oldest first.",
    discussion: """
      The app must have the setting event_feed.

        dossier events --since 2026-01-31 --types 'user.*,session.ended'
        dossier events --since now --follow
      """)
  @OptionGroup var options: AppOptions

  @Option(help: "oldest, now, a time, or the next of a page.")
  var since: String?

  @Option(help: "Only these types, with commas between them; user.* is a group.")
  var types: String?

  @Flag(help: "Prints new events as they come, until it is ended.")
  var follow = false

  func run() throws {
    options.common.run { context async throws(CommandFailure) in
      var request = APIRequest(.get, "/v1/events")
      request.app = options.app
      var next = since
      while true {
        request.query = [("since", next), ("types", types)].compactMap { name, value in
          value.map { (name: name, value: $0) }
        }
        let page = try await context.send(request).json
        for event in page["events"]?.array ?? JSONArray([]) {
          guard Output.write(Array((event.text + "\n").utf8), to: 1) else {
            return CommandOutput(.null)
          }
        }
        next = page["next"]?.string
        guard follow || page["more"] == true else { return CommandOutput(.null) }
        if page["more"] != true { await EventLoop.sleep(for: .seconds(1)) }
      }
    }
  }
}
