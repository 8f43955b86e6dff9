import CommandKit
import Accounts
import Configuration
import ArgumentParser
import Runtime
import Tenancy
import Transfer
import HTTP
import JSON
import Records

struct AppCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "app", abstract: "Apps, their settings and host names.",
    subcommands: [
      Create.self, List.self, Show.self, Set.self, Host.self, WellKnown.self, Delete.self,
    ]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Creates an app.")
    @OptionGroup var common: CommonOptions

    @Argument(help: "1 to 63 of a-z, 0-9 and -; it cannot be changed.")
    var name: String

    func run() throws { common.send(.post, "/v1/apps", .json(["name": .string(name)])) }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the apps.")
    @OptionGroup var common: CommonOptions

    func run() throws {
      common.send(.get, "/v1/apps", columns: ["name", "hosts", "version", "created_at"])
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows an app with the settings in force."
    )
    @OptionGroup var options: AppOptions

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        CommandOutput(try await context.send(.get, context.path(of: options.app)))
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes settings of an app.",
      discussion: """
        \(RecordShape.notation) Workers apply them within about 10 seconds. The command prints \
        the changed settings; with --json, all of them.

          dossier app set session_days=30 allowed_origins=https://a.example

        Settings:
        \(RecordShape.all.columns.table)
        """)
    @OptionGroup var options: AppOptions

    @Option(help: "Changes nothing unless the stored version is this one.")
    var ifVersion: Int?

    @Flag(
      name: .customLong("force"),
      help: "Changes passkey_rp_id also if users have passkeys, which then work no longer.")
    var isForced = false

    @Argument(help: ArgumentHelp("Settings.", valueName: "setting=value"))
    var settings: [NamedValue]

    func run() throws {
      options.common.run { context async throws(CommandFailure) in
        let patch = try RecordShape.all.patch(of: settings)
        let path = context.path(of: options.app) + (isForced ? "?force=true" : "")
        let changed = try await context.send(
          .patch, path, .mergePatch(["settings": .object(patch)]), ifVersion: ifVersion)
        var brief = changed.brief(["name", "version"]).object ?? JSONObject()
        brief["settings"] = changed["settings"]?.brief(patch.keys)
        return CommandOutput(changed, brief: .object(brief))
      }
    }
  }

  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes an app with all its users and their data, permanently.",
      discussion: """
        It deletes a hundred users at a time, and the app last. If it is interrupted, run it again. \
        The audit log of the deployment keeps the deletion; the app's own log is deleted with it. \
        Remove the app from the configuration of nginx and of clients yourself.
        """)
    @OptionGroup var common: CommonOptions
    @OptionGroup var confirmation: Confirmation

    @Option(help: ArgumentHelp("The app.", valueName: "name"))
    var app: String

    func run() throws {
      common.run(isLarge: true) { context async throws(CommandFailure) in
        let record = try await context.record(of: app)
        guard app != context.defaultApp else {
          throw CommandFailure(
            "\(app) is the default app (setting app): choose another default before deleting it",
            .conflict
          )
        }
        try confirmation.ask(
          "Delete the app \(app) with all its users and their data, permanently?")
        let line = ProgressLine()
        let age = context.appCacheTTL * 2
        let count = try await context.run { context async throws(Failure) in
          // Busy workers refresh their cached apps within this time. An idle worker refreshes them
          // at its next request.
          try await Apps.delete(record, known: age, context) {
            line.update(rows: $0, "\($0) users")
          }
        }
        line.clear()
        return CommandOutput(["name": .string(app), "users": .number(JSONNumber(count))])
      }
    }
  }
}

extension CommandContext {
  /// Returns the path of an app.
  func path(of app: String?) -> String { "/v1/apps/\(segment(app ?? defaultApp))" }
}
