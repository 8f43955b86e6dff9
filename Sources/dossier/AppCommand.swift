import ArgumentParser
import Dossier
import JSON
import RESTWire

struct AppCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "app",
    abstract: "Apps, their settings and host names.",
    subcommands: [Create.self, List.self, Show.self, Set.self, Host.self, Delete.self]
  )

  struct Create: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Makes an app.")
    @OptionGroup var common: CommonOptions

    @Argument(help: "1 to 63 of a-z, 0-9 and -; it cannot be changed.")
    var name: String

    func run() throws {
      common.run { console async throws(CommandFailure) in
        CommandOutput(
          try await console.doing { context async throws(Failure) in
            try await Apps.create(name, context).json
          }
        )
      }
    }
  }

  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the apps.")
    @OptionGroup var common: CommonOptions

    func run() throws {
      common.run { console async throws(CommandFailure) in
        CommandOutput(
          try await console.doing { context async throws(Failure) in
            .array(try await Apps.list(context).map(\.summary))
          },
          columns: ["name", "hosts", "version", "created_at"]
        )
      }
    }
  }

  struct Show: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Shows an app with the settings in force."
    )
    @OptionGroup var common: CommonOptions

    @Argument(help: "Its name.")
    var name: String

    func run() throws {
      common.run { console async throws(CommandFailure) in
        CommandOutput(
          try await console.doing { context async throws(Failure) in
            try await Apps.record(of: name, context).json
          }
        )
      }
    }
  }

  struct Set: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes settings of an app.",
      discussion: """
        A value is JSON where it is JSON of the setting's type, else text. null puts a setting back \
        to its default. Either all are changed or none. Workers go by them within some 10 seconds.

          dossier app set default session_days=30 allowed_origins=https://a.example

        Settings:
        \(AppSetting.table)
        """
    )
    @OptionGroup var common: CommonOptions

    @Option(help: "The version that must be stored; another is left alone.")
    var ifVersion: Int?

    @Argument(help: "The app's name.")
    var name: String

    @Argument(help: ArgumentHelp("Settings.", valueName: "setting=value"))
    var settings: [String]

    func run() throws {
      var change = AppChange()
      for text in settings {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw ValidationError("\(text) is not setting=value.") }
        let setting = AppSetting.named(String(parts[0]))
        // An unknown setting is reported together with the other errors.
        change.settings[String(parts[0])] = setting?.rule.value(of: String(parts[1])) ?? .null
      }
      common.change(name, change, ifVersion: ifVersion)
    }
  }

  struct Host: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Changes the host names by which an app is asked for."
    )

    enum Verb: String, ExpressibleByArgument, CaseIterable, Sendable { case set, add, remove }

    @OptionGroup var common: CommonOptions

    @Argument(help: "set (these and no others), add or remove.")
    var verb: Verb

    @Argument(help: "The app's name.")
    var name: String

    @Argument(help: "Host names in lower case, without a port.")
    var hosts: [String] = []

    func run() throws {
      var change = AppChange()
      switch verb {
      case .set: change.hosts = .set(hosts)
      case .add: change.hosts = .add(hosts)
      case .remove: change.hosts = .remove(hosts)
      }
      common.change(name, change, ifVersion: nil)
    }
  }
}

extension AppCommand {
  struct Delete: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Deletes an app with all its users and their data, for good.",
      discussion: """
        Users go a hundred at a time, and the app last: when it is interrupted, run it again. That it \
        was done stays in the trail of the deployment; the app's own trail goes with it. What nginx \
        and the clients say of the app has to be changed by hand.
        """
    )
    @OptionGroup var common: CommonOptions
    @OptionGroup var consent: Consent

    @Argument(help: "Its name.")
    var name: String

    func run() throws {
      common.settings.run(common.output.output, isLarge: true) {
        console async throws(CommandFailure) in
        let app = try await console.record(of: name)
        guard name != console.usualApp else { throw .usualApp(name) }
        try consent.ask("Delete the app \(name) with all its users and their data, for good?")
        let line = ProgressLine()
        let count = try await console.doing { context async throws(Failure) in
          // Busy workers refresh their cached apps within this time. An idle worker refreshes them
          // at its next request.
          try await Apps.delete(app, known: console.appAge * 2, context) {
            line.update(rows: $0, "\($0) users")
          }
        }
        line.clear()
        return CommandOutput(["name": .string(name), "users": .number(JSONNumber(count))])
      }
    }
  }
}

extension CommonOptions {
  fileprivate func change(_ name: String, _ change: AppChange, ifVersion: Int?) -> Never {
    let condition = VersionCondition(oneOf: ifVersion.map { [$0] })
    run { console async throws(CommandFailure) in
      CommandOutput(
        try await console.doing { context async throws(Failure) in
          try await Apps.change(name, change, if: condition, context).json
        }
      )
    }
  }
}

extension AppSetting {
  fileprivate static var table: String {
    let width = all.map(\.name.count).max() ?? 0
    return all.map { setting in
      let padding = String(repeating: " ", count: width - setting.name.count)
      return "  \(setting.name)\(padding)  \(setting.meaning)"
    }.joined(separator: "\n")
  }
}
