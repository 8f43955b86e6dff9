import CommandKit
import ArgumentParser
import HTTP
import JSON

struct MailCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mail",
    abstract: "Mail of all apps that waits in the database for the relay, or was sent.",
    discussion: """
      The workers try each mail again with growing pauses, for a day or until the code in it expires. \
      A mail that the relay rejects permanently stays in the list until then, and is not tried again. \
      The result is kept for seven days, without the text: `--state sent` and `--state failed`.
      """,
    subcommands: [List.self, Retry.self, Delete.self, Test.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the mails in the queue, the oldest first, or in a state, the newest first.",
      discussion: """
        --user lists the newest mails to a user in all states, as support sees them.

          dossier mail list --state sent --app shop
          dossier mail list --user 5eed00000000000000000001 --app shop
        """)
    @OptionGroup var options: AppOptions
    @OptionGroup var list: ListOptions

    @Option(help: "waiting, sent or failed.")
    var state: String?

    @Option(help: "The user, by id or address.")
    var user: String?

    func validate() throws {
      guard user == nil || state == nil else {
        throw ValidationError("--user lists mails in all states: leave --state out.")
      }
    }

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        var columns = ["id", "app", "kind", "state", "to", "attempts"]
        if let user {
          let id = try await context.user(user, of: options.app)
          return try await context.list(
            "/v1/users/\(segment(id))/mails", of: options.app, options: list,
            columns: columns + ["created_at", "ended_at", "answer", "last_error"])
        }
        columns += state == nil ? ["next_attempt_at"] : ["created_at", "ended_at", "answer"]
        return try await context.list(
          "/v1/mails", ["state": state, "app": options.app], options: list,
          columns: columns + ["last_error"])
      }
    }
  }

  struct Retry: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Tries mails again now, including abandoned ones."
    )
    @OptionGroup var mail: MailArgument

    func run() throws {
      mail.options.send(.post, "/v1/mails/\(mail.mail.map { "\(segment($0))/" } ?? "")retry")
    }
  }

  struct Test: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Sends an email of an app with example values, to see its texts and its look.")
    @OptionGroup var options: AppOptions

    @Option(help: "The language; by default that of the app.")
    var language: String?

    @Argument(help: "verify, reset, restore, taken, unknown, change or code.")
    var kind: String

    @Argument(help: "The address that gets it.")
    var email: String

    func run() throws {
      var body = JSONObject([("kind", .string(kind)), ("email", .string(email))])
      body["language"] = language.map(JSON.string)
      options.send(.post, "/v1/mails/test", .json(.object(body)))
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes mail from the queue; it is not sent.")
    @OptionGroup var mail: MailArgument
    @OptionGroup var confirmation: Confirmation

    func run() throws {
      mail.options.run { context async throws(CommandFailure) in
        try confirmation.ask("Delete \(mail.mail ?? "all queued mail")?")
        if let mail = mail.mail { return CommandOutput(try await context.delete(mail)) }
        var count = 0
        for id in try await context.waitingMails() {
          do throws(CommandFailure) {
            _ = try await context.delete(id)
            count += 1
          } catch {
            // It was sent meanwhile.
            guard error.status == .notFound else { throw error }
          }
        }
        return CommandOutput(["mails": .number(JSONNumber(count))])
      }
    }
  }
}

struct MailArgument: ParsableArguments {
  @OptionGroup var options: CommonOptions

  @Flag(help: "All mails in the queue.")
  var all = false

  @Argument(help: "The id of a mail, as `dossier mail list` shows it.")
  var mail: String?

  func validate() throws {
    guard all == (mail == nil) else {
      throw ValidationError("Name one mail by its id, or --all.")
    }
  }
}

extension CommandContext {
  fileprivate func delete(_ mail: String) async throws(CommandFailure) -> JSON {
    try await send(.delete, "/v1/mails/\(segment(mail))")
  }

  fileprivate func waitingMails() async throws(CommandFailure) -> [String] {
    try await items("/v1/mails", limit: nil).rows.compactMap { $0["id"]?.string }
  }
}
