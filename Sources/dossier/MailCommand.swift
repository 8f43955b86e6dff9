import ArgumentParser
import Dossier
import EventLoop
import JSON

struct MailCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "mail",
    abstract: "Mail that waits in the database for the relay.",
    discussion: """
      The workers try each mail again with growing pauses, for a day or for as long as the code in it \
      is good. What the relay refuses for good stays listed until then, without a next attempt.
      """,
    subcommands: [List.self, Retry.self, Drop.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists what waits, the oldest first.")
    @OptionGroup var options: CommonOptions

    @Option(help: "The id of the mail after which the list goes on.")
    var after: String?

    @Option(help: ArgumentHelp("How many at most, from 1 to 100.", valueName: "number"))
    var count = Outbox.pageSize

    func validate() throws {
      guard (1...Outbox.pageSize).contains(count) else {
        throw ValidationError("--count takes a number from 1 to \(Outbox.pageSize).")
      }
      guard after.map({ MailID($0) != nil }) != false else {
        throw ValidationError("--after takes an id.")
      }
    }

    func run() throws {
      let cursor = after.flatMap { MailID($0) }
      options.run { console async throws(CommandFailure) in
        let page = try await console.doing { context async throws(Failure) in
          try await Outbox.page(after: cursor, count: count, context)
        }
        return CommandOutput(
          .array(page.items.map(\.json)),
          columns: ["id", "app", "kind", "to", "attempts", "next_attempt_at", "last_error"],
          remark: page.next.map { "there may be more: --after \($0)" }
        )
      }
    }
  }

  struct Retry: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Has mail tried again at once, also what was given up."
    )
    @OptionGroup var mail: MailArgument

    func run() throws {
      mail.run { id, context async throws(Failure) in
        try await Outbox.retry(id, context)
      }
    }
  }

  struct Drop: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Takes mail out of the queue; nobody will get it."
    )
    @OptionGroup var mail: MailArgument
    @OptionGroup var consent: Consent

    func run() throws {
      mail.run(asking: consent) { id, context async throws(Failure) in
        try await Outbox.drop(id, context)
      }
    }
  }
}

extension ListedMail {
  fileprivate var json: JSON {
    func text(_ value: String?) -> JSON { value.map(JSON.string) ?? .null }
    return [
      "id": .string(id.text), "app": .string(app), "kind": .string(kind), "to": text(recipient),
      "attempts": .number(JSONNumber(attempts)), "next_attempt_at": text(nextAttemptAt?.text),
      "last_error": text(lastError), "created_at": .string(createdAt.text),
      "expires_at": .string(expiresAt.text),
    ]
  }
}

struct MailArgument: ParsableArguments {
  @OptionGroup var options: CommonOptions

  @Flag(help: "All that there are.")
  var all = false

  @Argument(help: "The id of one, as `dossier mail list` shows it.")
  var mail: String?

  func validate() throws {
    guard all == (mail == nil), mail.map({ MailID($0) != nil }) != false else {
      throw ValidationError("Name one mail by its id, or --all.")
    }
  }

  func run(
    asking consent: Consent? = nil,
    _ verb: @escaping @EventLoop @Sendable (MailID?, RequestContext) async throws(Failure) -> Int
  ) -> Never {
    options.run { console async throws(CommandFailure) in
      try consent?.ask("Drop \(mail ?? "all mail that waits")?")
      let count = try await console.doing { context async throws(Failure) in
        try await verb(mail.flatMap { MailID($0) }, context)
      }
      return CommandOutput(["mails": .number(JSONNumber(count))])
    }
  }
}
