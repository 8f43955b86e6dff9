import CommandKit
import ArgumentParser
import HTTP
import JSON

struct SupportSessionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "support-session",
    abstract: "Sessions in which support sees the account of a user, by the user's code.",
    subcommands: [Create.self, Show.self, End.self]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Opens a session of 30 minutes, and prints its access token, which only reads.",
      discussion: """
        The user makes the code at /account/support. It is valid for 10 minutes, and once. An email tells \
        the user the reason. The user can end the session at any time.
        """)
    @OptionGroup var options: AppOptions

    @Argument(help: "The code that the user has told you.")
    var code: String

    @Argument(help: "Why you need to see the account; the user reads it.")
    var reason: String

    func run() throws {
      options.send(
        .post, "/v1/support-sessions",
        .json(["code": .string(code), "reason": .string(reason)]))
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Shows what the user sees.")
    @OptionGroup var session: SupportSessionArgument

    func run() throws { session.options.send(.get, session.path) }
  }

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ends a session.", aliases: ["delete"])
    @OptionGroup var session: SupportSessionArgument

    func run() throws { session.options.send(.delete, session.path) }
  }
}

struct SupportSessionArgument: ParsableArguments {
  @OptionGroup var options: AppOptions

  @Argument(help: "The id of the session.")
  var session: String

  var path: String { "/v1/support-sessions/\(segment(session))" }
}
