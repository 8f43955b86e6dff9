import CommandKit
import Tenancy
import ArgumentParser
import Runtime
import Sessions
import EventLoop
import HTTP
import JSON

struct SessionCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "session",
    abstract: "Sessions: where users are signed in.",
    subcommands: [List.self, End.self, EndAll.self, Undo.self]
  )

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Lists the live sessions of a user, the newest first.")
    @OptionGroup var user: UserArgument
    @OptionGroup var list: ListOptions

    func run() throws {
      user.run { context, path async throws(CommandFailure) in
        try await context.list(
          "\(path)/sessions", of: user.options.app, options: list,
          columns: [
            "id", "device_id", "provider", "address", "agent", "created_at", "refreshed_at",
          ]
        )
      }
    }
  }

  struct End: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ends a session of a user; `dossier user logout` ends all of them.")
    @OptionGroup var user: UserArgument

    @Argument(help: "The id of the session.")
    var session: String

    func run() throws { user.send(.delete, "/sessions/\(segment(session))") }
  }

  struct EndAll: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "end-all",
      abstract: "Ends all sessions of an app, or of the users of one issuer.",
      discussion: """
        Their tokens are refused at once, and the users must sign in again. Users who sign in during \
        the run may be signed out too. If the command is interrupted, run it again.
        """)
    @OptionGroup var common: CommonOptions
    @OptionGroup var confirmation: Confirmation

    @Option(help: "The app.")
    var app: String

    @Option(
      help: ArgumentHelp(
        "Ends only sessions of users with an identity of this issuer: its name, or the iss of its tokens.",
        valueName: "issuer"
      )
    )
    var issuer: String?

    func run() throws {
      let (name, issuer) = (app, issuer)
      common.run(isLarge: true) { context async throws(CommandFailure) in
        let app = try await context.record(of: name).id
        let users = issuer.map { "the users of \($0)" } ?? "all users"
        try confirmation.ask("End the sessions of \(users) of the app \(name)?")
        let line = ProgressLine()
        let ended = try await context.run { context async throws(Failure) in
          try await Sessions.endAll(of: app, issuer: issuer, context) { users, sessions in
            line.update(rows: users, "\(users) users, \(sessions) sessions ended")
          }
        }
        line.clear()
        return CommandOutput(["app": .string(name), "sessions": .number(JSONNumber(ended))])
      }
    }
  }
}
