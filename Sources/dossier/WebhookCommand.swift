import CommandKit
import ArgumentParser
import EventLoop
import HTTP
import JSON
import Records
import Webhooks

extension WebhookRecord: CommandRecord {
  static var furtherCommands: [any ParsableCommand.Type] {
    [
      WebhookCommand.Secret.self, WebhookCommand.Test.self, WebhookCommand.Deliveries.self,
      WebhookCommand.Retry.self, WebhookCommand.Replay.self,
    ]
  }
  static var lists: [String] { ["status"] }
  static var guide: String {
    "\n  dossier webhook create https://hooks.example.com/dossier types=user.*,session.ended\n"
  }
}

/// The commands for the key and the deliveries of webhooks.
enum WebhookCommand {
  struct Secret: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Replaces the key of a webhook; the key before signs too for 24 hours.")
    @OptionGroup var webhook: RecordArgument<WebhookRecord>

    func run() throws { webhook.send(.post, at: "/secret") }
  }

  struct Test: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sends an event of the type webhook.test, and prints the answer.")
    @OptionGroup var webhook: RecordArgument<WebhookRecord>

    func run() throws { webhook.send(.post, at: "/test") }
  }

  struct Deliveries: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the deliveries of a webhook, the newest first.")
    @OptionGroup var webhook: RecordArgument<WebhookRecord>
    @OptionGroup var list: ListOptions

    @Option(help: "Only those in a state: waiting, delivered or failed.")
    var state: String?

    func run() throws {
      let app = webhook.options.app
      webhook.options.common.run { context async throws(CommandFailure) in
        try await context.list(
          "\(webhook.path(context))/deliveries", ["state": state], of: app, options: list,
          columns: ["id", "event", "type", "timestamp", "state", "attempts", "status", "error"])
      }
    }
  }

  struct Retry: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sends a delivery again now, also one that was delivered.")
    @OptionGroup var webhook: RecordArgument<WebhookRecord>

    @Argument(help: "The id of the delivery.")
    var delivery: String

    func run() throws { webhook.send(.post, at: "/deliveries/\(segment(delivery))/retry") }
  }

  struct Replay: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sends events again, as new deliveries with the same ids.")
    @OptionGroup var webhook: RecordArgument<WebhookRecord>

    @Option(help: "oldest, a time, or the next of a page of events.")
    var since: String

    @Option(name: .customLong("type"), help: "Only events of a type; may be given several times.")
    var types: [String] = []

    func run() throws {
      var body = JSONObject([("since", .string(since))])
      if !types.isEmpty { body["types"] = .array(JSONArray(types.map(JSON.string))) }
      webhook.send(.post, .json(.object(body)), at: "/replay")
    }
  }
}
