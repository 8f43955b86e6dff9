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

    func run() throws {
      options.run { session async throws(CommandFailure) in
        let mails = try await session.doing { administrator async throws(Failure) in
          try await Outbox.list(for: administrator)
        }
        return Outcome(
          mails,
          columns: ["id", "app", "kind", "to", "attempts", "next_attempt_at", "last_error"]
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
      mail.run { id, administrator async throws(Failure) in
        try await Outbox.retry(id, by: administrator)
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
      mail.run(asking: consent) { id, administrator async throws(Failure) in
        try await Outbox.drop(id, by: administrator)
      }
    }
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
    _ verb: @escaping @EventLoop @Sendable (MailID?, Administrator) async throws(Failure) -> Int
  ) -> Never {
    options.run { session async throws(CommandFailure) in
      try consent?.ask("Drop \(mail ?? "all mail that waits")?")
      let count = try await session.doing { administrator async throws(Failure) in
        try await verb(mail.flatMap { MailID($0) }, administrator)
      }
      return Outcome(["mails": .number(JSONNumber(count))])
    }
  }
}
